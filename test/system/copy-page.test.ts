import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/postgres-process.ts';
import { createVisitor, type PageForm } from './agreed/page-forms.ts';
import { type DaemonHere, startDaemon } from './daemon-here.ts';
import { copyDatabase, createService, type MirrorAt, mirrorAt } from './mirror-at.ts';

const token = 'a token of the page of a copy';
const authorization = `Basic ${Buffer.from(`kim:${token}`).toString('base64')}`;

describe('the page of a daemon whose mirror was copied', () => {
  let service: Awaited<ReturnType<typeof createService>>;
  let copy: MirrorAt;
  let daemon: DaemonHere;
  let origin: string;
  let batch: string;
  const databases: TestDatabase[] = [];
  beforeAll(async () => {
    service = await createService();
    const at = (database: TestDatabase) => {
      databases.push(database);
      const settings = { MUSTERD__push__approve: 'always' };
      return mirrorAt(service.emulator, { DATABASE_URL: database.url }, settings);
    };
    const original = await createTestDatabase();
    const home = at(original);
    expect((await home.musterd('reconcile')).code).toBe(0);
    // One transaction is one batch, whose rows have ticks where somebody may decide.
    const users = [...service.users.take(3)].join(', ');
    await home.sql(`update mirror.users set email = 'review' || id || '@example.com' where id in (${users})`);
    expect((await home.musterd('reconcile')).code).toBe(3);
    batch = String((await home.sql('select batch from report.held where batch is not null'))[0]?.[0]);
    copy = at(await copyDatabase(original.url));
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    daemon = startDaemon({
      ...copy.environment,
      MUSTERD__status__port: String(port),
      MUSTERD__status__details: 'true',
      MUSTERD__status__people: JSON.stringify({ kim: { token, may: 'decide' } }),
    });
    await eventually('a complete run', async () => {
      const fresh = await fetch(`${origin}/freshness`).catch(() => undefined);
      return fresh?.status === 200;
    });
  });
  afterAll(async () => {
    await daemon.stop();
    for (const database of databases) await database.close();
    await service.emulator.close();
  });

  const get = async (path: string) =>
    (await fetch(`${origin}${path}`, { headers: { authorization } })).text();
  const textOf = (page: string) =>
    page
      .replaceAll(/<[^>]*>/g, '')
      .replaceAll('&#39;', "'")
      .replaceAll(/\s+/g, ' ');
  const tokenIn = (page: string) => /name="token" value="([^"]+)"/.exec(page)?.[1];
  const place = async () =>
    [...(await get('/metrics')).matchAll(/^musterd_place\{state="(\w+)"\} 1$/gm)].map(([, state]) => state);

  it('shows the old and the new address of the mirror, and offers no form', async () => {
    expect(await place()).toEqual(['elsewhere']);
    for (const path of ['/', `/waiting/${batch}`]) {
      const page = await get(path);
      expect([path, textOf(page)]).toEqual([
        path,
        expect.stringMatching(
          /This mirror was at localhost:\d+\/\w+ until .*, and is at localhost:\d+\/\w+ now\. Runs read the service and compare; 3 edits made here wait and are not sent\./,
        ),
      ]);
      expect(page).not.toMatch(/<form method="post"|type="checkbox"|musterd approve/);
    }
    expect(await get('/')).toContain('<h1>1 thing to do</h1>');
    expect(textOf(await get('/waiting'))).toContain('edits approved here would not be sent');
  });

  it('shows no warning and offers forms again after musterd adopt', async () => {
    expect((await copy.musterd('adopt', '--reason', 'it has moved', '--as', 'kim', '--yes')).code).toBe(0);
    expect(await place()).toEqual(['here']);
    const page = await get(`/waiting/${batch}`);
    expect(page).not.toContain('This is a copy');
    expect(tokenIn(page)).toBeDefined();
    expect(page).toContain('type="checkbox"');
    const changes = textOf(await get('/changes'));
    expect(changes).toContain('the mirror');
    expect(changes).toContain('moved');
  });

  it('shows "Nothing to do" after adopt --as-copy, and refuses an approval from a form opened before', async () => {
    const visitor = createVisitor(origin, token, 'kim');
    const [form] = (await visitor.ask(`/waiting/${batch}`)).forms;
    const question = await visitor.press(form as PageForm, 'Approve');
    expect(
      (await copy.musterd('adopt', '--as-copy', '--reason', 'staging', '--as', 'kim', '--yes')).code,
    ).toBe(0);
    expect(await place()).toEqual(['copy']);
    const answer = await visitor.press(question.forms[0] as PageForm, 'Approve');
    expect(answer.status).toBe(303);
    expect(answer.text).toContain('Nothing can be decided in a copy');
    expect(await copy.sql(`select count(*) from report.decisions`)).toEqual([[0n]]);

    const glance = await get('/');
    expect(textOf(glance)).toMatch(/This is a copy, and is meant as one\..* Said by kim on .*: “staging”\./);
    expect(glance).toContain('<h1>Nothing to do</h1>');
    const waiting = await get(`/waiting/${batch}`);
    expect(waiting).not.toMatch(/<form method="post"|type="checkbox"|act-bar|class="badge"|class="pill act"/);
    expect(textOf(waiting)).toContain(
      'Nothing can be decided in a copy: edits approved here would not be sent.',
    );
    expect(service.updates()).toBe(0);
  });

  it('the daemon records the end "asked" after a request to stop', async () => {
    expect(await daemon.stop()).toBe(0);
    const ended = `select e.value ->> 'how' from sync.learned, jsonb_each(value) e where topic = 'daemon'`;
    expect(await copy.sql(ended)).toEqual([['asked']]);
  });
});
