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
