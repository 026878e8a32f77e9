/** What a hostile service says, all of it drawn from one seed: values, JSON, bytes and framing. */
import type { Random } from '../../src/emulator/random.ts';

const texts = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfffy',
  '\ufeff',
  '\u202eevil',
  '\u200b\u200d',
  '\u001b[31mred\r\n',
  '\u2028',
  'e\u0301'.repeat(40),
  '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}',
  'ßſİıﬁ',
  '١٢٣',
  "'; drop table mirror.users; --",
  '$1 $$ %s $ {x} {{x}}',
  '<script>alert(1)</script>',
  '\\',
  '"',
  '},{"id":7}',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  '0',
  '-1',
  '1e9',
  '9223372036854775808',
  '2020-13-45T99:99:99Z',
  '275760-09-13T00:00:00.001Z',
  'x'.repeat(70_000),
];
const others: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  -0.0,
  1e308,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  [],
  {},
  [[]],
  [null],
  { id: 1 },
  ['a', 1],
];
/** As they cannot come of any value, in place of a number or a text. */
const tokens = [
  '1e400',
  '-',
  '01',
  '.5',
  '0x10',
  'NaN',
  'Infinity',
  'undefined',
  "'a'",
  '12345678901234567890123',
  '"\\ud800"',
  '"\\x"',
  '"\u0007"',
  '//',
  '/**/',
  ',,',
  ']',
  '}',
  '{',
  '\ufeff',
];

export type Hostility = 'none' | 'values' | 'shape' | 'json' | 'bytes' | 'framing';
export const hostilities: readonly Hostility[] = ['none', 'values', 'shape', 'json', 'bytes', 'framing'];

function otherValue(random: Random): unknown {
  return random.between(0, 2) > 0 ? random.pick(texts) : random.pick(others);
}

const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
};

/** The same with other values in it; with `anywhere` not only in place of plain ones, and with other keys and rows. */
export function alterValue(value: unknown, random: Random, anywhere: boolean, percent = 5): unknown {
  const hits = () => random.fraction() * 100 < percent;
  if (Array.isArray(value)) {
    if (anywhere && hits()) return otherValue(random);
    const rows = value.map((row) => alterValue(row, random, anywhere, percent));
    if (!anywhere || !hits()) return rows;
    const some = random.pick([
      rows.slice(1),
      [...rows, ...rows.slice(0, 3)],
      rows.toReversed(),
      [...rows, otherValue(random)],
    ]);
    return some;
  }
  if (typeof value !== 'object' || value === null) return hits() ? otherValue(random) : value;
  if (anywhere && hits())
    return random.between(0, 3) === 0 ? nested(random.pick([20, 40, 600])) : otherValue(random);
  const entries = Object.entries(value).flatMap(([key, inner]): [string, unknown][] => {
    if (anywhere && hits())
      return random.pick([
        [],
        [[random.pick(texts), inner]],
        [
          [key, inner],
          [`${key} `, 1],
        ],
      ]);
    return [[key, alterValue(inner, random, anywhere, percent)]];
  });
  return Object.fromEntries(entries);
}

/** Text that was JSON, and may be no more. */
export function alterText(text: string, random: Random): string {
  const at = random.between(0, text.length);
  const [before, after] = [text.slice(0, at), text.slice(at)];
  switch (random.between(0, 5)) {
    case 0:
      return before;
    case 1:
      return after;
    case 2:
      return before + random.pick(tokens) + after;
    case 3:
      // A key twice: what counts is for the reader to say.
      return text.replace(
        /"(\w+)":/,
        (key, name: string) => `${key}${random.pick(tokens.slice(0, 9))},"${name}":`,
      );
    case 4:
      return text.replaceAll(/:(\d+)/g, (number) =>
        random.between(0, 20) === 0 ? `:${random.pick(tokens)}` : number,
      );
    default:
      return before + text + after;
  }
}

export function alterBytes(body: Buffer, random: Random): Buffer {
  const bytes = Buffer.from(body);
  const edits = random.between(1, 8);
  for (let edit = 0; edit < edits && bytes.length > 0; edit += 1) {
    bytes[random.between(0, bytes.length - 1)] = random.pick([
      0,
      0x22,
      0x5c,
      0x80,
      0xc0,
      0xed,
      0xff,
      random.between(0, 255),
    ]);
  }
  return bytes;
}

export interface Framed {
  readonly bytes: Buffer;
  /** The status that a reader may take it for. */
  readonly status: number;
  /** Nothing comes after it on this connection. */
  readonly ends: boolean;
}

const statuses = [
  100, 199, 200, 201, 204, 206, 301, 304, 400, 401, 403, 404, 409, 418, 429, 500, 502, 503, 599, 999,
];

export function frame(body: Buffer, status = 200, headers: readonly string[] = []): Framed {
  const head = [
    `HTTP/1.1 ${status} OK`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    ...headers,
  ];
  return { bytes: Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body]), status, ends: false };
}

/** @param said a text that comes back where texts may stand, such as the credentials of the request */
export function alterFrame(body: Buffer, random: Random, said: string): Framed {
  const chunk = (text: string) => Buffer.from(text, 'latin1');
  const status = random.pick(statuses);
  const length = body.length;
  const line = random.pick([
    `HTTP/1.1 ${status} ${said}`,
    `HTTP/1.0 ${status} OK`,
    `HTTP/1.1 ${status}`,
    'HTTP/1.1 abc OK',
    'HTTP/9.9 200 OK',
    `HTTP/1.1 200 OK\r\nContent-Length: ${length}`,
    '',
    'SSH-2.0-OpenSSH_9.6',
  ]);
  const type = random.pick([
    'Content-Type: application/json',
    'Content-Type: text/html',
    'Content-Type: application/json; charset=utf-7',
    'Content-Type:',
    `Content-Type: ${said}`,
  ]);
  const framing = random.pick([
    `Content-Length: ${length}`,
    `Content-Length: ${length + 5}`,
    `Content-Length: ${Math.max(0, length - 5)}`,
    `Content-Length: -1`,
    'Content-Length: 99999999999999999999',
    `Content-Length: ${length}\r\nContent-Length: ${length + 1}`,
    `Content-Length: ${length}\r\nTransfer-Encoding: chunked`,
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: gzip, chunked',
    'Content-Encoding: gzip',
    '',
  ]);
  const more = random.pick([
    `X-Request-Id: ${said}`,
    `Location: https://${said}/`,
    `Location: ${said}`,
    `Retry-After: ${random.pick(['0', '-1', '999999999', 'soon', '1'])}`,
    `Date: ${random.pick(['Thu, 01 Jan 1970 00:00:00 GMT', said, 'Fri, 31 Dec 9999 23:59:59 GMT'])}`,
    `X-Long: ${'x'.repeat(random.pick([10, 5_000, 40_000]))}`,
    ' folded: yes',
    'no colon',
    `X-Zero: a\u0000b`,
    `Set-Cookie: ${said}`,
  ]);
  const chunked = framing.includes('chunked') && random.between(0, 2) > 0;
  const size = random.pick([
    length.toString(16),
    (length + 3).toString(16),
    'zz',
    '-1',
    `${length.toString(16)};${said}`,
  ]);
  const content = chunked ? Buffer.concat([chunk(`${size}\r\n`), body, chunk('\r\n0\r\n\r\n')]) : body;
  const head = chunk([line, type, framing, more].filter((part, at) => part !== '' || at === 0).join('\r\n'));
  const whole = Buffer.concat([head, chunk('\r\n\r\n'), content]);
  const cut = random.between(0, 9) === 0 ? whole.subarray(0, random.between(0, whole.length)) : whole;
  return { bytes: cut, status: /^HTTP\/\S+ (\d+)/.exec(line) ? status : 0, ends: true };
}
