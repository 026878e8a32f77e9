/** What `vitest` is to the tests where mutants are played: they are declared here, and its `expect` is its own. */
import { globSync } from 'node:fs';

export { expect, vi } from 'vitest';

/** They take long, since they look at how long many users take, or need a Postgres. */
const leftOut = [
  'turns',
  'push-pace',
  'many-users',
  'requests/reconcile-requests',
  'requests/random-requests',
].map((name) => `test/reconcile/${name}.test.ts`);

/** The tests of the decisions and of the nouns, which need nothing but values. */
export const testFiles = (): readonly string[] =>
  globSync('test/{reconcile,model}/**/*.test.ts')
    .filter((file) => !leftOut.includes(file))
    .toSorted();

export interface DeclaredTest {
  readonly id: string;
  readonly run: () => unknown;
}

type Body = (...values: readonly unknown[]) => unknown;
type Each = (rows: readonly unknown[]) => (name: string, body: Body) => void;

const declared: DeclaredTest[] = [];
let within: readonly string[] = [];

/** The tests that this work declares. */
export async function declaredBy(
  file: string,
  work: () => Promise<unknown>,
): Promise<readonly DeclaredTest[]> {
  within = [file];
  await work();
  return declared.splice(0);
}

const each =
  (declare: (name: string, body: Body) => void): Each =>
  (rows) =>
  (name, body) => {
    for (const [at, row] of rows.entries()) {
      const values: readonly unknown[] = Array.isArray(row) ? row : [row];
      declare(`${name} (${at + 1})`, () => body(...values));
    }
  };

function declareTest(name: string, body: Body): void {
  declared.push({ id: [...within, name].join(' > '), run: body });
}

function declareGroup(name: string, body: Body): void {
  const outside = within;
  within = [...outside, name];
  body();
  within = outside;
}

export const it = Object.assign(declareTest, { each: each(declareTest) });
export const describe = Object.assign(declareGroup, { each: each(declareGroup) });
