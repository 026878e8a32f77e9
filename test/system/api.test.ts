import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseKey, parseValue, setField } from '../../src/commands/call/api.ts';
import { listenHere } from './listen-here.ts';
import { runMusterd, spawnMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

describe('musterd api', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage({ emulator: { variants: { 'limit-cap': 7 } } });
  });
  afterAll(() => stage.close());
  const api = async (args: readonly string[], input?: string) =>
    input === undefined
      ? runMusterd(['api', ...args], stage.env)
      : spawnMusterd(['api', ...args], stage.env, input);

  it('sends GET /v1/team, prints the JSON of the answer and exits 0', async () => {
    const { code, stdout } = await api(['GET', '/v1/team']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ id: 41 });
  });

  it('sends --field values as a JSON body, in a GET request too', async () => {
    const user = stage.emulator.team.users().find(({ email }) => email !== null);
    const { stdout } = await api(['get', '/v1/users/get', '--field', `email[]=${user?.email}`]);
    expect(JSON.parse(stdout)).toMatchObject({ memberships: [{ id: user?.id }] });
    await api(['POST', '/v1/tag', '--field', 'tag=made by hand']);
    expect(stage.emulator.requests.at(-1)).toMatchObject({ path: '/v1/tag', body: { tag: 'made by hand' } });
  });

  it('reads the body from stdin with --input -, and prints status and headers with -i', async () => {
    const { code, stdout } = await api(['POST', '/v1/contacts/count', '--input', '-', '-i'], '{}');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^HTTP 200\n/);
    expect(stdout).toMatch(/\nx-request-id: \S+\n/);
    expect(stdout).toMatch(/\n\n"312456"\n$/);
  });

  it('reads all pages with --paginate, and prints their rows as one JSON list', async () => {
    const { code, stdout } = await api(['POST', '/v1/contact-fields', '--paginate']);
    expect(code).toBe(0);
    expect((JSON.parse(stdout) as { id: number }[]).map(({ id }) => id).toSorted((a, b) => a - b)).toEqual(
      stage.emulator.team.fields().map(({ id }) => id),
    );
  });

  it('exits 1 for a 404 answer, prints status and request id to stderr, and prints nothing to stdout', async () => {
    const { code, stdout, stderr } = await api(['GET', '/v1/tag/999999']);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/404/);
    expect(stderr).toContain('X-Request-Id');
  });

  it('exits 1 if the service answers 400, and prints the body to stderr, cut off and without control characters', async () => {
    const bodies = {
      '/v1/1': '{"errors":{"tag":["is too long \\u001b[31m","\u202eis taken"]}}',
      '/v1/2': '"bad_data"',
      '/v1/3': `<html>\n<b>no\u001b[2J</b>${'x'.repeat(5000)}</html>`,
      '/v1/4': '',
    };
    const baseUrl = await listenHere((request, response) => {
      const body = bodies[request.url as keyof typeof bodies];
      response.writeHead(400, {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      });
      response.end(body);
    });
    const service = { MUSTERD_BASE_URL: baseUrl, MUSTERD_API_KEY: 'any' };
    const env = { ...service, MUSTERD__log__level: 'silent', DATABASE_URL: stage.url };
    const answers = await Promise.all(
      Object.keys(bodies).map((path) => runMusterd(['api', 'GET', path], env)),
    );
    for (const { code, stdout, stderr } of answers) {
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toContain('was answered 400');
      expect(stderr.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(stderr.length).toBeLessThan(1_300);
    }
    const [detail, word, page, empty] = answers.map(({ stderr }) => stderr);
    const lastLine = (said = '') => said.trimEnd().split('\n').at(-1);
    expect(lastLine(detail)).toMatch(/^ {2}\{"errors":\{"tag":\["is too long/);
    expect(word).toBe('musterd: GET /v1/2 was answered 400 (bad_data)\n');
    expect(lastLine(page)).toContain('<b>no');
    expect(empty).toBe('musterd: GET /v1/4 was answered 400\n');
  });

  it.each([
    [['FETCH', '/v1/team']],
    [['GET', '/v2/team']],
    [['GET', '/v1/../admin']],
    [['GET', '//elsewhere.example/v1/team']],
    [['POST', '/v1/tag', '--field', 'nonsense']],
    [['POST', '/v1/tag', '--field', 'a=1', '--input', '-']],
  ])('exits 64 for the arguments %j and sends no request', async (args) => {
    stage.emulator.clearRequests();
    expect((await api(args)).code).toBe(64);
    expect(stage.emulator.requests).toEqual([]);
  });

  it('builds nested JSON from keys such as filters[inboxes][], keeps large numbers exact, and 007 as text', () => {
    const body = {};
    for (const [key, value] of [
      ['limit', '7'],
      ['filters[inboxes][]', '1'],
      ['filters[inboxes][]', '2'],
      ['filters[closed]', 'false'],
      ['id', '9007199254740993'],
      ['name', '007'],
      ['none', 'null'],
    ] as const) {
      setField(body, parseKey(key), parseValue(value));
    }
    expect(body).toEqual({
      limit: 7,
      filters: { inboxes: [1, 2], closed: false },
      id: 9007199254740993n,
      name: '007',
      none: null,
    });
  });
});
