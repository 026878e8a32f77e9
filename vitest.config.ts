import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { BaseSequencer } from 'vitest/node';
import { hungAfterMs } from './test/support/limits.ts';
import { createRedReporter } from './test/support/red-reporter.ts';

/** What takes long comes first, so that no worker is left alone with it at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer['sort']>[0]) {
    const sorted = await super.sort(files);
    const first = [
      '/test/simulation/',
      '/test/reconcile/specification',
      '/test/crash/',
      '/test/system/',
      '/test/stepper/',
      '/test/hostile/',
      '',
    ];
    const rank = ({ moduleId }: (typeof sorted)[number]) =>
      first.findIndex((part) => moduleId.includes(part));
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

const ofPackage = 'test/package/**/*.test.ts';

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/seed.ts'],
    reporters: [process.env['CI'] ? 'dot' : 'default', 'json', createRedReporter()],
    outputFile: { json: 'coverage/report.json' },
    projects: [
      { extends: true, test: { name: 'program', include: ['test/**/*.test.ts'], exclude: [ofPackage] } },
      // What a change of the program seldom breaks, and what takes long: `npm run test:package`, which `.ci/run` plays.
      { extends: true, test: { name: 'package', include: [ofPackage] } },
    ],
    testTimeout: hungAfterMs,
    hookTimeout: hungAfterMs,
    // What a browser shows comes when it comes.
    expect: { poll: { timeout: hungAfterMs / 2 } },
    // Most tests wait: for processes of their own, for Postgres, for a time. Two workers a core keep it busy.
    maxWorkers: Math.min(2 * availableParallelism(), 8),
    // To import the program takes longer than most tests: a worker does it once. No module keeps anything of a test.
    isolate: false,
    sequence: { sequencer: LongestFirst },
  },
});
