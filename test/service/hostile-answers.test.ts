import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import tags from '../../src/model/listed/tags.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import { openAnswered } from './client-fixture.ts';
import { answer } from './raw-server.ts';

/** As long as an answer may be with the default settings. */
const maxBytes = 33_554_432;
const mostRssMb = 450;

/** The text again and again, up to the limit. */
const of = (text: string, open = '[', close = '0]'): Buffer => {
  const count = Math.floor((maxBytes - open.length - close.length) / text.length);
  return Buffer.from(open + text.repeat(count) + close);
};
const person =
  '{"id":41000001,"name":"Vera Test","email":"vera.simic.41.0@example.com","phone":"12120324679","role_id":2,' +
  '"team_id":41,"created_at":"2020-01-01T00:00:00Z","updated_at":"2020-01-01T00:00:00Z"},';
const memberships = '{"memberships":[';

const tooDeep = /: the answer was rejected: it is nested deeper than 512 levels$/;
const noJson = /: the answer claims to be JSON and is not$/;
const other = /answered 200 without /;
const taken = /^taken$/;

/** What the service says when it is asked for users, and what comes of it. What is not taken is in `json-bounds.test.ts`. */
const bodies: Readonly<Record<string, readonly [make: () => Buffer, outcome: RegExp]>> = {
  'lists in lists': [() => Buffer.alloc(maxBytes, '['), tooDeep],
  'the digits of one number': [() => of('1', memberships, ']}'), taken],
  'people with ids of 19 digits': [() => people(person.replace('41000001', '1234567890123456789')), taken],
  'people with half a surrogate pair': [() => people(person.replace('Vera', '\\ud800')), taken],
  'half surrogate pairs': [() => of('"\\ud800 \\ud800 \\ud800 \\ud800",'), other],
  'different longer texts': [() => differentTexts(), other],
  'bytes that are no UTF-8': [() => Buffer.alloc(maxBytes, 0xff), noJson],
};

/** A large team, and white space up to the limit. */
function people(row: string): Buffer {
  const rows = Buffer.from(memberships + row.repeat(100_000));
  return Buffer.concat([rows, Buffer.alloc(maxBytes - rows.length - 4, ' '), Buffer.from('{}]}')]);
}

function differentTexts(): Buffer {
  const texts: string[] = [];
  for (let size = 0; size < maxBytes - 100; size += texts.at(-1)?.length ?? 0)
    texts.push(`"a text with the number ${texts.length}",`);
  return Buffer.from(`[${texts.join('')}0]`);
}

describe('an answer that is built to use up all memory', () => {
  let next: () => Buffer = () => Buffer.alloc(0);
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const body = next();
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
    });
  });
  beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const read = async (count: number) => {
    const { port } = server.address() as AddressInfo;
    const reader = fileURLToPath(new URL('hostile-reader.ts', import.meta.url));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--max-old-space-size=512', '--expose-gc', reader, `http://127.0.0.1:${port}`, String(count)],
      { env: {} },
    );
    return JSON.parse(stdout) as { readonly outcome: string; readonly rssMb: number }[];
  };

  it(`users() uses less than ${mostRssMb} MB, and returns users or fails with a clear message`, async () => {
    const all = Object.entries(bodies);
    const readings: number[] = [];
    // The collector may come late in one process on a busy machine, and not in three.
    while (readings.length < 3 && readings.every((rssMb) => rssMb >= mostRssMb)) {
      const left = all.map(([, [make]]) => make);
      next = () => left.shift()?.() ?? Buffer.alloc(0);
      const answers = await read(all.length);
      expect(Object.fromEntries(all.map(([name], at) => [name, answers[at]?.outcome]))).toEqual(
        Object.fromEntries(all.map(([name, [, outcome]]) => [name, expect.stringMatching(outcome)])),
      );
      // Of the process so far: the last is the most.
      readings.push(answers.at(-1)?.rssMb ?? Infinity);
    }
    expect(Math.min(...readings)).toBeLessThan(mostRssMb);
  });
});

test.each<readonly [string, number, (client: ServiceClient) => Promise<unknown>]>([
  ['count', 65_536, (client) => client.contactCount({})],
  ['page', 8_388_608, (client) => client.list(tags, { memory: nothingLearned, size: 100 })],
])('a call fails if its answer, a %s, exceeds %i bytes (S6)', async (_, bytes, read) => {
  const { client } = await openAnswered(answer(200, `[${'1,'.repeat(bytes / 2)}0]`), {
    retry: { attempts: 1 },
  });
  await expect(read(client)).rejects.toThrow(`the answer is longer than ${bytes} bytes`);
});
