/**
 * Stryker's way to the tests of the decisions and of the nouns, which need nothing but values. All of them are loaded once
 * into one process, and a mutant is played by those alone that reach it, the quickest first: a mutant takes some
 * milliseconds, where a run of vitest takes a second and a half.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { InstrumenterContext } from '@stryker-mutator/api/core';
import { declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import {
  determineHitLimitReached,
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type TestResult,
  type TestRunner,
  TestStatus,
  toMutantRunResult,
} from '@stryker-mutator/api/test-runner';
import fc from 'fast-check';
import { type DeclaredTest, declaredBy, testFiles } from './declared-tests.ts';

const tookFile = 'took.json';
/** Longer tests are left out where `LONGEST_TEST_MS` says so: what nothing else notices costs as much as all tests together. */
const longestMs = Number(process.env['LONGEST_TEST_MS'] ?? Number.POSITIVE_INFINITY);

const context: InstrumenterContext = {};

async function loadTests(): Promise<readonly DeclaredTest[]> {
  const tests: DeclaredTest[] = [];
  for (const file of testFiles()) {
    tests.push(...(await declaredBy(file, () => import(pathToFileURL(join(process.cwd(), file)).href))));
  }
  return tests;
}

async function play({ id, run }: DeclaredTest): Promise<TestResult> {
  const began = performance.now();
  const result = { id, name: id, fileName: id.split(' > ')[0] ?? '' };
  try {
    await run();
    return { ...result, status: TestStatus.Success, timeSpentMs: performance.now() - began };
  } catch (error) {
    const failureMessage = error instanceof Error ? error.message : String(error);
    return { ...result, status: TestStatus.Failed, failureMessage, timeSpentMs: performance.now() - began };
  }
}

function createTestRunner(): TestRunner {
  let tests: readonly DeclaredTest[] | undefined;
  /** How long each took in the first run: a process that Stryker begins later finds it in the folder of the copy. */
  const tookMs = new Map<string, number>();

  const playAll = async (some: readonly DeclaredTest[], isOver: (result: TestResult) => boolean) => {
    const results: TestResult[] = [];
    for (const test of some) {
      context.currentTestId = test.id;
      const result = await play(test);
      results.push(result);
      if (isOver(result)) break;
    }
    return { status: DryRunStatus.Complete, tests: results } satisfies DryRunResult;
  };

  const playMutant = async ({ activeMutant, hitLimit, testFilter }: MutantRunOptions) => {
    tests ??= await loadTests();
    const reaching = testFilter === undefined ? tests : tests.filter(({ id }) => testFilter.includes(id));
    if (tookMs.size === 0 && existsSync(tookFile)) {
      const took = JSON.parse(readFileSync(tookFile, 'utf8')) as [string, number][];
      for (const [id, ms] of took) tookMs.set(id, ms);
    }
    const took = ({ id }: DeclaredTest) => tookMs.get(id) ?? 0;
    Object.assign(context, { activeMutant: activeMutant.id, hitCount: 0, hitLimit });
    const result = await playAll(
      reaching.filter((test) => took(test) <= longestMs).toSorted((a, b) => took(a) - took(b)),
      ({ status }) => status === TestStatus.Failed,
    );
    return determineHitLimitReached(context.hitCount, hitLimit) ?? result;
  };

  return {
    // What was imported stays imported.
    capabilities: () => ({ reloadEnvironment: false }),
    init: async () => {
      Object.assign(globalThis, { __stryker__: context });
      process.env['SPECIFICATION_STATES'] ??= '20000';
      // What a mutant leaves behind when its test has ended concerns nobody.
      process.on('unhandledRejection', () => undefined);
      process.on('uncaughtException', () => undefined);
      const declaring = new URL('declared-tests.ts', import.meta.url).href;
      registerHooks({
        resolve: (name, importer, next) =>
          name === 'vitest' && importer.parentURL !== declaring
            ? { url: declaring, shortCircuit: true }
            : next(name, importer),
      });
      await import('../support/seed.ts');
      // A mutant is killed by one case: nobody reads which is the smallest.
      fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });
    },
    dryRun: async () => {
      tests = await loadTests();
      const result = await playAll(tests, () => false);
      writeFileSync(tookFile, JSON.stringify(result.tests.map(({ id, timeSpentMs }) => [id, timeSpentMs])));
      const { mutantCoverage: { static: onImport, perTest } = { static: {}, perTest: {} } } = context;
      // Stryker would begin another process for each mutant that is reached on import as well, which takes seconds.
      const inTests = new Set(Object.values(perTest).flatMap((hits) => Object.keys(hits)));
      const onlyOnImport = Object.entries(onImport).filter(([id]) => !inTests.has(id));
      return { ...result, mutantCoverage: { static: Object.fromEntries(onlyOnImport), perTest } };
    },
    mutantRun: async (options) => toMutantRunResult(await playMutant(options)),
  };
}

export const strykerPlugins = [declareFactoryPlugin(PluginKind.TestRunner, 'declared', createTestRunner)];
