import { createBody } from '../../src/service/body.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createKnownSecrets } from '../../src/config/known-secrets.ts';
import { secretsOf } from '../../src/runs/open.ts';
import { blotOut } from '../../src/secret.ts';
import { readAnswer } from '../../src/service/answer.ts';
import { listenHere } from './listen-here.ts';
import { ownFolder } from './own-folder.ts';
import { runMusterd } from './run-musterd.ts';

const folder = ownFolder();

const secret = 'canary7Qz-of-a-Secret';

describe('hiding secrets in text', () => {
  it.each([
    [`key ${secret}!`, 'key [secret]!'],
    [secret.toUpperCase(), '[secret]'],
    ['canary7Q', '[secret]'],
    ['canary7', 'canary7'],
    ['xcanary7Qz-x-a-Secret.', 'x[secret]x[secret].'],
    [`${secret}${secret} ${secret}`, '[secret] [secret]'],
    ['', ''],
  ])('blotOut hides each piece of a secret of 8 or more characters: %j becomes %j', (text, left) => {
    expect(blotOut(text, [secret])).toBe(left);
  });

  it('blotOut hides every 8-character piece of a secret, and changes no text without one (S33)', () => {
    const letters = (maxLength: number) => fc.string({ unit: fc.constantFrom('a', 'b'), maxLength });
    fc.assert(
      fc.property(letters(40), fc.array(letters(12), { maxLength: 3 }), (text, secrets) => {
        const left = blotOut(text, secrets);
        const pieces = secrets.flatMap((one) =>
          Array.from({ length: Math.max(one.length - 7, 0) }, (_, at) => one.slice(at, at + 8)),
        );
        const holds = (where: string) => pieces.some((piece) => where.includes(piece));
        for (const piece of left.split('[secret]')) expect(holds(piece)).toBe(false);
        expect(left === text).toBe(!holds(text));
      }),
    );
  });

  it.each([
    ['host=db.example.net dbname=muster password=canary-of-words', 'db.example.net [secret]'],
    ['anna:canary-of-words@db.example.net/muster', 'db.example.net [secret]'],
    ['db.example.net:5432/muster', 'db.example.net canary-of-words'],
    ['postgres://canary-of-words@db.example.net/muster', 'db.example.net canary-of-words'],
  ])('createKnownSecrets hides only the password of DATABASE_URL=%j', (DATABASE_URL, left) => {
    expect(createKnownSecrets({ DATABASE_URL }).blot('db.example.net canary-of-words')).toBe(left);
  });

  it('createKnownSecrets hides each secret of environment and settings, but no user, host or id', () => {
    const known = createKnownSecrets({
      DATABASE_URL: 'postgres://anna-of-harbour:pass%2Fword-of-all@db.example.net/muster_of_all?user=a@b',
      MUSTERD_SECRET_KEY: 'key-number-one',
      MUSTERD_NEXT_SECRET_KEY: 'key-that-follows',
      PGPASSWORD: 'of-the-environment',
      MUSTERD__database__url: 'postgres:///muster?user=kim&password=behind-a-mark&sslmode=require',
      MUSTERD__service__nextSecretKey: 'key-number-two',
      MUSTERD__teams__a__service__secretKey: 'key-of-a-team',
      MUSTERD__ping__url: 'https://alarms.example.net/ping/0123-4567',
      MUSTERD__teams__a__notify__secret: 'signs-of-a-team',
      MUSTERD_NOTIFY_URL: 'https://hooks.example.net/services/T0-of-B0',
      MUSTERD_NOTIFY_SECRET: 'signs-for-all',
      MUSTERD_SECRET_ID: 'identification',
      MUSTERD_API_KEY: 'short',
    });
    const text = [
      'pass%2Fword-of-all pass/word-of-all key-number-one key-number-two key-of-a-team',
      'https://alarms.example.net /ping/0123-4567',
      'signs-of-a-team signs-for-all /services/T0-of-B0',
      'key-that-follows of-the-environment behind-a-mark sslmode=require',
      'postgres://anna-of-harbour db.example.net muster_of_all identification short',
    ].join('\n');
    expect(known.blot(text)).toBe(
      [
        '[secret] [secret] [secret] [secret] [secret]',
        'https://alarms.example.net [secret]',
        '[secret] [secret] [secret]',
        '[secret] [secret] [secret] sslmode=require',
        'postgres://anna-of-harbour db.example.net muster_of_all identification short',
      ].join('\n'),
    );
    known.add([{ reveal: () => 'muster_of_all' }]);
    expect(known.blot(text)).not.toContain('muster_of_all');
  });
});

it('secretsOf returns the token of each person who may use the page, so that musterd hides it', () => {
  const tokens = ['a token of ann alone', 'a token of bo alone'];
  const [ann, bo] = tokens;
  const config = configSchema.parse({
    status: { people: { ann: { token: ann }, bo: { token: bo } } },
  });
  expect(secretsOf(config).map((one) => one.reveal())).toEqual(tokens);
});

/** Both ways to tell an error. @returns everything that was said */
async function readingOf(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const said = [];
  for (const form of [[], ['--json']]) {
    const { code, stdout, stderr } = await runMusterd([...args, ...form], env);
    expect(code).not.toBe(0);
    expect(stderr).not.toBe('');
    if (form.length > 0) expect(JSON.parse(stdout)).toHaveProperty('error.message');
    said.push(stdout, stderr);
  }
  return said.join('\n');
}

describe('an error message of musterd', () => {
  const parts = ['canary7', '7Qz-of', 'Secret'];

  it.each([
    `postgres://u:12/${secret}@127.0.0.1:9/m`,
    `postgres://u:${secret}/x@127.0.0.1:9/m`,
    `postgres://u:12?${secret}@127.0.0.1:9/m`,
    `postgres://u:12#${secret}@127.0.0.1:9/m`,
    `postgres://u:12/x?${secret}@127.0.0.1:9/m`,
    `postgres://u/${secret}@127.0.0.1:9/m`,
  ])('hides the password of the malformed DATABASE_URL=%s', async (url) => {
    const said = await readingOf(['status'], { DATABASE_URL: url });
    for (const part of parts) expect(said).not.toContain(part);
    expect(said).toContain('DATABASE_URL has an @ or a # after its host.');
  });

  it.each(['[', '{', ' [', '["', '{"'])('hides a secret starting with %s in a variable', async (start) => {
    const said = await readingOf(['status'], { MUSTERD__service__secretKey: start + secret });
    for (const part of parts) expect(said).not.toContain(part);
    expect(said).toContain('MUSTERD__service__secretKey: begins like a list or a mapping');
  });

  const starts = ['*', '|', '>', '&', '!', '!!', '%', '@', '`', '"', "'", '[', '{', '? ', '- ', ': ', '"\\'];
  it.each([...starts, '{a: *', '[*', '{*', '*x: '])('hides a YAML secret starting with %s', async (start) => {
    const file = join(folder, 'musterd.yaml');
    writeFileSync(file, `service:\n  secretId: x\n  secretKey: ${start}${secret}\n`);
    const said = await readingOf(['status', '--config', file], {});
    for (const part of parts) expect(said).not.toContain(part);
    expect(said).not.toContain('Unexpected error');
    expect(said).toContain('musterd.yaml:');
  });

  it('hides each piece of the token that a service answer repeats, even with hidden characters (S41)', async () => {
    const token = 'eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJ4In0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg';
    const answers = [token, token.slice(0, 30), token.slice(-20), token.replaceAll(/(?<=.)(?=.)/g, '\u200b')];
    for (const text of answers) {
      const bytes = Buffer.alloc(1_000, JSON.stringify({ message: `bad header ${text}` }).padEnd(1_000));
      const headers = { 'content-length': String(bytes.length), 'x-request-id': text };
      const body = createBody(bytes.length);
      body.add(bytes);
      const refusal = await readAnswer({ status: 400, headers, token }, body);
      expect(refusal).toMatchObject({ label: 'bad header [secret]', requestId: '[secret]' });
      expect(JSON.stringify(refusal)).not.toContain(text.slice(0, 8));
    }
  });

  it('hides each piece of the secret key that a service answer repeats (S42)', async () => {
    const baseUrl = await listenHere((_, response) => {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: `the key ${secret.slice(2, 14)} is bad`, more: secret }));
    });
    const file = join(folder, 'service.yaml');
    writeFileSync(file, `service: {baseUrl: "${baseUrl}", secretId: x, secretKey: "${secret}"}\n`);
    const said = [];
    for (const options of [[], ['--include']]) {
      const { code, stdout, stderr } = await runMusterd([
        'api',
        'GET',
        '/v1/team',
        '--config',
        file,
        ...options,
      ]);
      expect(code).toBe(1);
      said.push(stdout, stderr);
    }
    expect(said.join('')).toContain('the key [secret] is bad');
    expect(said.join('')).not.toContain(secret.slice(2, 14));
    expect(said.join('')).not.toContain(secret);
  });
});
