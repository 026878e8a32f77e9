/** `npm run mutate` plays these tests without vitest: what they import of it has to be there. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import * as standIn from './declared-tests.ts';

it.each(standIn.testFiles())('the mutation stand-in for vitest exports each name that %s imports', (file) => {
  const [, names = ''] = /^import \{([^}]+)\} from 'vitest';/m.exec(readFileSync(file, 'utf8')) ?? [];
  expect(names).not.toBe('');
  expect(names.split(',').filter((name) => !(name.trim() in standIn))).toEqual([]);
});
