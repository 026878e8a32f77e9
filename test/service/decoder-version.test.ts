import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { decoderVersion } from '../../src/service/digest.ts';

/** What users, members and listings are read by. */
const files = [
  'model/canonical.ts',
  'service/cut-rows.ts',
  'service/decoded-rows.ts',
  'service/list-text.ts',
  'service/parse-json.ts',
  'service/row-flaws.ts',
  'service/row-news.ts',
  'service/wire-lists.ts',
  'service/wire-team.ts',
  'service/wire-user.ts',
  'service/wire.ts',
];

/** Without its comments. */
function codeOf(file: string): string {
  const text = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '').replaceAll(/\s+/g, ' ');
}

it('The version of how users are read goes up with every change of it', () => {
  const hash = createHash('sha256').update(files.map(codeOf).join('\n')).digest('hex').slice(0, 16);
  expect(
    { decoderVersion, hash },
    'raise decoderVersion in src/service/digest.ts, and write both here',
  ).toEqual({
    decoderVersion: 6,
    hash: 'f3f26d04a65a99c6',
  });
});
