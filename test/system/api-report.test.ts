import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { entryPoints, libraryFolder } from '../../entry-points.ts';
import { plainEnvironment, ROOT, temporaryFolder } from '../support/checkout.ts';
import { longHungAfterMs } from '../support/limits.ts';
import { run } from '../support/run.ts';

test(
  'docs/api has all that other programs import, and the types name nothing else',
  async () => {
    using folder = temporaryFolder();
    const { status, stderr } = await run(process.execPath, ['declare.ts', folder.path], {
      cwd: ROOT,
      env: plainEnvironment(),
    });
    expect(status, stderr).toBe(0);
    const names = Object.keys(entryPoints);
    expect(readdirSync(join(ROOT, 'docs', 'api'))).toEqual(names.map((name) => `${name}.api.md`).toSorted());
    for (const name of names) {
      const types = readFileSync(join(folder.path, libraryFolder, `${name}.d.ts`), 'utf8');
      expect(types).toMatch(/^export declare function /m);
      expect(types.split('\n').filter((line) => /^(import|declare) /.test(line))).toEqual([]);
    }
  },
  longHungAfterMs,
);

test('docs/client.md has every method and every option of the client', () => {
  const report = readFileSync(join(ROOT, 'docs', 'api', 'client.api.md'), 'utf8');
  const page = readFileSync(join(ROOT, 'docs', 'client.md'), 'utf8');
  const members = (name: string) => {
    const body = new RegExp(`^export interface ${name} .*?^}`, 'ms').exec(report)?.[0] ?? '';
    return [...body.matchAll(/^ {4}(?:readonly )?(\w+)[?(:]/gm)].map(([, member = '']) => member);
  };
  const methods = members('Client');
  const options = [
    'ClientOptions',
    'ConnectionSettings',
    'HttpSettings',
    'RetrySettings',
    'PaceSettings',
  ].flatMap(members);
  expect(methods.length).toBe(17);
  expect(options.length).toBeGreaterThan(15);
  const isSaid = (name: string) => new RegExp(`\\b${name}`).test(page);
  expect([...methods.map((name) => `${name}\\(`), ...options].filter((name) => !isSaid(name))).toEqual([]);
});
