import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { carryOut } from '../../src/commands/command-line.ts';
import { inMarkdown, printJson } from '../../src/commands/output.ts';
import { fromJson } from '../../src/model/json.ts';
import { listenHere } from './listen-here.ts';
import { runMusterd } from './run-musterd.ts';

/** What moves, hides or reorders text on a terminal. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const withoutLineEnds = (text: string) => text.replaceAll('\n', '');

const hostile = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      '\x1b',
      '\x7f',
      '\x9b',
      '\x85',
      '\u202e',
      '\u2066',
      '\u200b',
      '\u2028',
      '\u{e0041}',
      '\n',
      '\\',
      '"',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
});

it('printJson escapes unprintable characters, and its output parses to the same value (S65)', () => {
  fc.assert(
    fc.property(fc.dictionary(hostile, hostile), (value) => {
      let written = '';
      printJson({ out: { write: (text) => (written += text) } }, { list: [value, 2n ** 64n] });
      expect(fromJson(written)).toEqual({ list: [{ ...value }, 2n ** 64n] });
      expect(withoutLineEnds(written)).not.toMatch(unprintable);
    }),
  );
});

it('musterd prints an error without unprintable characters, and keeps its line breaks', async () => {
  let said = '';
  const world = {
    args: [],
    env: {},
    out: { write: () => undefined },
    err: { write: (text: string) => (said += text) },
    leave: () => undefined,
  };
  await carryOut(world, false, () => Promise.reject(new Error('a\x9b2J\u202eb\nc')));
  expect(said).toMatch(/a 2J b\n/);
  expect(withoutLineEnds(said)).not.toMatch(unprintable);
});

it('musterd api --include prints headers and body without unprintable characters', async () => {
  const baseUrl = await listenHere((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'x-odd': 'a\x9b2Jb' });
    response.end(JSON.stringify({ name: 'a\u009b2J\u202eb' }));
  });
  const environment = {
    MUSTERD_BASE_URL: baseUrl,
    MUSTERD_SECRET_ID: 'x',
    MUSTERD_SECRET_KEY: 'a-key-of-somebody',
  };
  const { code, stdout } = await runMusterd(['api', 'GET', '/v1/team', '--include'], environment);
  expect(code).toBe(0);
  expect(stdout).toContain('x-odd: a 2Jb');
  expect(stdout).toContain('"a\\u009b2J\\u202eb"');
  expect(withoutLineEnds(stdout)).not.toMatch(unprintable);
});

describe('inMarkdown', () => {
  it.each([
    ['Anna', '`Anna`'],
    ['', ''],
    [' \u200b ', ''],
    ['[a](https://evil.example)', '`[a](https://evil.example)`'],
    ['![](https://evil.example/x.png)', '`![](https://evil.example/x.png)`'],
    ['@everybody https://evil.example #12', '`@everybody https://evil.example #12`'],
    ['a`@b', '`` a`@b ``'],
    ['``` @b `', '```` ``` @b ` ````'],
    ['a | b \\| c', '`a ¦ b \\¦ c`'],
    ['<img src=x>', '`<img src=x>`'],
    ['a\n\n# b', '`a  # b`'],
  ])('renders the text %j as inline code: %s', (text, shown) => {
    expect(inMarkdown(text)).toBe(shown);
  });

  it('wraps any text in one code span that the text cannot close (S66)', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('`', ' ', 'a', '@', '|', '\\', '\n') }), (text) => {
        const shown = inMarkdown(text);
        if (text.trim() === '') return;
        const [, fence = ''] = /^(`+)/.exec(shown) ?? [];
        const inner = shown.slice(fence.length, -fence.length);
        expect(shown.endsWith(fence)).toBe(true);
        expect(inner.match(/`+/g) ?? []).not.toContain(fence);
        expect(inner).not.toMatch(/^`|`$|[|\n]/);
      }),
    );
  });
});
