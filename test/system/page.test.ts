/** The page as people see it: a real browser, a real daemon, Postgres and the emulator. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { showTimesIn } from '../../src/model/zone-time.ts';
import { pageViews } from '../../src/page/serve/page-views.ts';
import { servePage } from '../../src/page/serve/serve-page.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import {
  allLooks,
  cutOff,
  faultsIn,
  faultsOn,
  type Look,
  launchBrowser,
  looks,
  type OwnBrowser,
  openPage,
  shoot,
} from '../support/browser.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { noRun } from '../support/no-run.ts';
import { freePort } from '../support/postgres-process.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { type Running, startMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

const token = 'a token of the page for tests';
const somebodys = 'a token of somebody else';
const httpCredentials = { username: 'm.okoye', password: token };
const authorization = `Basic ${Buffer.from(`m.okoye:${token}`).toString('base64')}`;

/** What others may call themselves. */
const hostile = [
  '<img src=x onerror="document.title=1">',
  '</title><script>alert(1)</script>',
  'Ana \u202Egnp.exe',
  '\u001B[31mred\u001B[0m',
  'x'.repeat(4_000),
];

const owned = async (db: Database, text: string) =>
  await runSqlText(db, `begin; set local musterd.writing = 'on'; ${text}; commit`);

/** A view's address, with something that is there. */
async function addressOf(db: Database, pattern: string, which = 'min'): Promise<string> {
  const one = async (text: string) => {
    const cell = (await runSqlText(db, text)).rows[0]?.[0];
    return typeof cell === 'string' || typeof cell === 'bigint' ? cell.toString() : '0';
  };
  const batch = await one(`select batch from report.held where batch is not null limit 1`);
  const id = await one(
    pattern.startsWith('/runs')
      ? 'select max(run_id) from report.runs'
      : `select ${which}(user_id) from report.roster`,
  );
  return pattern.replace(':team', 'default').replace(':batch', batch).replace(':id', id);
}

/** The page alone, over a mirror that SQL made. */
async function openMirrorPage(db: Database, status: Readonly<Record<string, unknown>> = {}) {
  const config = configSchema.parse({ status });
  const warnings: string[] = [];
  const log = {
    warn: (fields: object, text: string) => warnings.push(`${text} ${String(Reflect.get(fields, 'err'))}`),
  };
  const server = await servePage({
    db,
    configs: () => [config],
    version: '0',
    host: '127.0.0.1',
    port: 0,
    log,
  });
  const origin = `http://127.0.0.1:${server.port}`;
  return { origin, warnings, close: () => server.close() };
}

let own: OwnBrowser;
beforeAll(async () => {
  own = await launchBrowser();
});
afterAll(() => own.close());

describe('the page of a daemon', () => {
  let stage: Stage;
  let daemon: Running;
  let origin: string;
  beforeAll(async () => {
    stage = await createStage({ emulator: { users: 60 } });
    const ids = stage.emulator.team.users().map(({ id }) => id);
    for (const [at, first] of hostile.entries())
      stage.emulator.team.editUser(ids.at(-1 - at) ?? 0, { first });
    const port = await freePort();
    origin = `http://127.0.0.1:${port}`;
    daemon = startMusterd(['daemon'], {
      ...stage.emulator.environment,
      DATABASE_URL: stage.url,
      // Once a year: no run of the schedule comes between.
      MUSTERD__schedule__users: '0 0 1 1 *',
      MUSTERD__schedule__listings: '0 0 1 1 *',
      MUSTERD__schedule__counts: '0 0 1 1 *',
      MUSTERD__status__port: String(port),
      MUSTERD__status__details: 'true',
      MUSTERD__status__people: JSON.stringify({
        'm.okoye': { token, may: 'decide' },
        somebody: { token: somebodys, may: 'decide' },
      }),
    });
    const counted = async (text: string) => Number((await stage.sql(text))[0]?.[0]);
    await eventually('a complete run', async () => {
      const fresh = await fetch(`${origin}/freshness`).catch(() => undefined);
      const runs = await counted(`select count(*) from report.runs where outcome = 'complete'`);
      return fresh?.status === 200 && runs > 0;
    });
    await stage.sql(
      `update mirror.users set first_name = 'Robin' where id in (${ids.slice(10, 13).join(', ')})`,
    );
    const pushes = `select count(*) from report.changes where kind = 'push' and outcome = 'confirmed'`;
    await eventually('three pushes', async () => (await counted(pushes)) === 3);
    await stage.sql(`update mirror.users set phone = '4179' || id where resolved`);
    await owned(
      stage.db,
      `insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, since)
       select team_id, id, 'email', 'conflict', to_jsonb('old.' || email), to_jsonb(email), to_jsonb('new.' || email),
         to_jsonb('new.' || email), now() - interval '42 min'
       from mirror.users where email is not null order by id offset 6 limit 1;
       insert into sync.held_fields (team_id, user_id, field, reason, base_value, mirror_value, service_value, shown_value, detail, since)
       select team_id, id, 'email', 'refused', to_jsonb(email), to_jsonb('taken.' || email), to_jsonb(email), to_jsonb(email),
         'The service answered 400, "email has already been taken"', now() - interval '22 hours'
       from mirror.users where email is not null order by id offset 8 limit 1;
       update mirror.users set email = 'taken.' || email, edited_at = now(), edited_by = current_user
       where id = (select user_id from sync.held_fields where reason = 'refused')`,
    );
    const batches = 'select count(distinct batch) from report.held where batch is not null';
    await eventually('a batch', async () => (await counted(batches)) === 1);
  });
  afterAll(async () => {
    daemon.process.kill();
    await daemon.ended;
    await stage.close();
  });

  it('shows each view without a fault, in all looks', async () => {
    const { page, context, trouble } = await openPage(own, origin, 'light', { httpCredentials });
    for (const { path } of pageViews) {
      const name = path === '/' ? 'glance' : path.slice(1).replaceAll(/[/:]+/g, '-');
      const [first, last] = [await addressOf(stage.db, path), await addressOf(stage.db, path, 'max')];
      // The last ones have the names that try something.
      const others = allLooks.filter((look) => look !== 'light');
      const seen = new Map(
        first === last
          ? [[first, allLooks]]
          : [
              [first, ['light'] as readonly Look[]],
              [last, others],
            ],
      );
      for (const [address, looksOfIt] of seen) {
        const answer = await page.goto(`${origin}${address}`);
        expect([address, answer?.status()]).toEqual([address, 200]);
        // With fonts: else the checker would find nothing because there is nothing.
        const width = await page.evaluate<number>(
          'const r = document.createRange(); r.selectNodeContents(document.querySelector("h1")); r.getBoundingClientRect().width',
        );
        expect([address, width > 0]).toEqual([address, true]);
        const faults = await faultsIn(page, looksOfIt, (look) => `${name}-${look}`);
        expect([address, faults]).toEqual([address, []]);
      }
    }
    expect(trouble).toEqual([]);
    await context.close();
  });

  it('lets nobody in without the token, and takes a form from nowhere else', async () => {
    const status = async (path: string, init: RequestInit = {}) =>
      (await fetch(`${origin}${path}`, init)).status;
    expect(await status('/')).toBe(401);
    expect(await status('/assets/style.css')).toBe(401);
    expect(await status('/healthz')).toBe(200);
    expect(await status('/', { headers: { authorization } })).toBe(200);
    const post = { method: 'POST', headers: { authorization } };
    const address = await addressOf(stage.db, '/waiting/:batch');
    expect(await status('/waiting', { ...post, body: 'team=default&verb=approve&confirmed=yes&why=x' })).toBe(
      403,
    );
    expect(
      await status('/waiting', { ...post, body: 'team=default&verb=approve&confirmed=yes&why=x&token=abc' }),
    ).toBe(403);
    const html = await (await fetch(`${origin}${address}`, { headers: { authorization } })).text();
    const [, given = ''] = /name="token" value="([^"]+)"/.exec(html) ?? [];
    expect(given).not.toBe('');
    const elsewhere = { authorization, 'sec-fetch-site': 'cross-site' };
    const body = `team=default&verb=approve&confirmed=yes&why=x&token=${given}`;
    expect(await status('/waiting', { method: 'POST', headers: elsewhere, body })).toBe(403);
    const other = `Basic ${Buffer.from(`somebody:${somebodys}`).toString('base64')}`;
    expect(await status('/waiting', { method: 'POST', headers: { authorization: other }, body })).toBe(403);
    expect(await stage.sql(`select count(*) from report.decisions`)).toEqual([['0']]);
  });

  it('is gone through by the keyboard, and reads without a script', async () => {
    const { page, context } = await openPage(own, origin, 'light', { httpCredentials });
    await page.goto(origin);
    await page.keyboard.press('Tab');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main');
    const seen = new Set<string>();
    await page.goto(origin);
    for (let i = 0; i < 80; i += 1) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate<number>(
        `[...document.querySelectorAll('a[href], button:not([hidden]), summary, [tabindex="0"]')].indexOf(document.activeElement)`,
      );
      seen.add(String(at));
      if (at < 0) break;
    }
    const stops = await page
      .locator('a[href]:visible, button:visible, summary:visible, [tabindex="0"]:visible')
      .count();
    expect(seen.size).toBeGreaterThanOrEqual(stops - 1);
    await page.locator('.tabs a', { hasText: 'Waiting' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/waiting');
    await context.close();

    const without = await openPage(own, origin, 'light', { httpCredentials, javaScriptEnabled: false });
    for (const path of ['/', '/waiting', '/runs']) {
      await without.page.goto(`${origin}${path}`);
      await expect.poll(() => without.page.locator('h1').count()).toBe(1);
      await expect.poll(() => without.page.getByRole('link', { name: 'Load again' }).isVisible()).toBe(true);
    }
    await without.context.close();
  });

  it('decides as the command does, asks once more, and other pages hear of it', async () => {
    const watching = await openPage(own, origin, 'light', { httpCredentials });
    await watching.page.goto(origin);
    await expect.poll(() => watching.page.locator('h1').textContent()).toBe('3 things to do');
    const { page, context, trouble } = await openPage(own, origin, 'light', { httpCredentials });
    await page.goto(`${origin}${await addressOf(stage.db, '/waiting/:batch')}`);
    const rows = await page.locator('input[name=row]').count();
    expect(rows).toBeGreaterThan(25);
    await page.locator('input[name=row]').first().uncheck();
    await page.getByRole('button', { name: /^Reject(?! and)/ }).click();
    await expect.poll(() => page.locator('h1').textContent()).toBe(`Reject ${rows - 1} of ${rows}?`);
    await page.getByText('Recorded as m.okoye').waitFor();
    await shoot(page, 'confirmation-light');
    await page.getByLabel('Reason, kept with the decision').fill('wrong file');
    await noRun(stage.db);
    await page.getByRole('button', { name: `Reject ${rows - 1}`, exact: true }).click();
    await page.waitForURL('**/waiting?done=*');
    await expect
      .poll(() => page.locator('#receipt').textContent())
      .toContain(`${rows - 1} phone numbers rejected by you at`);
    expect(await faultsOn(page, 'light')).toEqual([]);
    expect(
      await stage.sql(
        `select decision, decided_by, decided_why, count(*) from report.decisions group by 1, 2, 3`,
      ),
    ).toEqual([['reject', expect.stringMatching(/^m\.okoye\b/) as string, 'wrong file', String(rows - 1)]]);

    await page.locator('#conflict-default input[name=row]').check();
    await page.getByRole('button', { name: 'Take the mirror’s' }).click();
    await expect.poll(() => page.locator('h1').textContent()).toMatch(/^Take the mirror’s email of .+\?$/);
    await page.getByLabel('Reason, kept with the decision').fill('the desk knows');
    await noRun(stage.db);
    await page.getByRole('button', { name: 'Take the mirror’s 1', exact: true }).click();
    await page.waitForURL('**/waiting?done=*');
    await expect
      .poll(() => page.locator('#receipt').textContent())
      .toContain('1 email address to be as in the mirror by you');
    expect(
      await stage.sql(
        `select count(*) from report.decisions where decision = 'resolve' and decided_why = 'the desk knows'`,
      ),
    ).toEqual([['1']]);

    await page.locator('#refused-default tbody th a').click();
    await page.getByRole('button', { name: 'Another value…' }).click();
    await expect.poll(() => page.locator('h1').textContent()).toMatch(/^Another email of .+\?$/);
    await page.getByLabel('The email that is to stand').fill('a.new.one@example.com');
    await page.getByLabel('Reason, kept with the decision').fill('they said so');
    await noRun(stage.db);
    await page.getByRole('button', { name: 'Make this edit' }).click();
    await page.waitForURL('**/waiting?done=*');
    await expect
      .poll(() => page.locator('#receipt').textContent())
      .toMatch(/^Email of .+ set to a\.new\.one@example\.com by you at /);
    expect(
      await stage.sql(
        `select count(*), min(u.email) from report.decisions d join mirror.users u on u.id = d.user_id
         where d.decided_why = 'they said so' and d.decided_by like 'm.okoye%'`,
      ),
    ).toEqual([['1', 'a.new.one@example.com']]);
    expect(trouble).toEqual([]);
    await context.close();

    await watching.page.locator('h1', { hasText: '1 thing to do' }).waitFor();
    expect(watching.trouble).toEqual([]);
    await watching.context.close();
  });

  it('decides nothing once it does not answer, and says why at the button', async () => {
    const { page, context } = await openPage(own, origin, 'light', { httpCredentials });
    await page.clock.install();
    await page.goto(`${origin}${await addressOf(stage.db, '/waiting/:batch')}`);
    const button = page.locator('.bar-below button').first();
    await expect.poll(() => button.isDisabled()).toBe(false);
    await cutOff(page, true);
    await page.clock.fastForward(61_000);
    await expect.poll(() => button.isDisabled()).toBe(true);
    await expect.poll(() => button.getAttribute('aria-describedby')).toBe('no-answer');
    await expect
      .poll(() => page.locator('#no-answer').innerText())
      .toContain('This page is 1 minute old. musterd does not answer');
    await cutOff(page, false);
    await page.locator('.bar-below button:not([disabled]):not([aria-describedby])').first().waitFor();
    await context.close();
  });

  it('shows ids alone where details are off, in the files as well', async () => {
    const { origin: quiet, warnings, close } = await openMirrorPage(stage.db);
    const [names, values] = await Promise.all([
      stage.sql(`select name from mirror.users where length(name) > 6 and length(name) < 100`),
      stage.sql(
        `select email from mirror.users where email is not null union all select phone from mirror.users where length(phone) > 8`,
      ),
    ]);
    const secrets = [...names, ...values].flat();
    expect(secrets.length).toBeGreaterThan(100);
    for (const { path, csv } of pageViews) {
      const address = await addressOf(stage.db, path);
      for (const file of [
        address,
        ...(csv === undefined ? [] : [`${address === '/' ? '/glance' : address}.csv`]),
      ]) {
        const answer = await fetch(`${quiet}${file}`);
        const text = await answer.text();
        expect([file, answer.status]).toEqual([file, 200]);
        expect([file, secrets.filter((secret) => text.includes(secret))]).toEqual([file, []]);
      }
    }
    expect(warnings).toEqual([]);
    await close();
  });

  it('by itself says since when no daemon runs, and what to do about it', async () => {
    const { origin: alone, close } = await openMirrorPage(stage.db, { details: true });
    const text = async (path = '/') =>
      (await (await fetch(`${alone}${path}`)).text()).replaceAll(/<[^>]*>/g, '');
    expect(await text()).not.toContain('No daemon runs');
    const { page, context, trouble } = await openPage(own, alone, 'light');
    await page.goto(alone);
    // What has changed since is told from what was so when the page was first told of anything.
    await page.evaluate(
      `new Promise((resolve) => { const events = new EventSource('/events'); events.addEventListener('alive', () => { events.close(); resolve(); }); })`,
    );
    const { pid } = daemon.process;
    daemon.process.kill();
    expect(await daemon.ended).toMatchObject({ code: 0 });
    // A page that is open hears of it.
    const banner = page.locator('main > .banner:visible');
    await banner.waitFor();
    expect((await banner.innerText()).replaceAll(/\s+/g, ' ')).toMatch(
      new RegExp(
        `^No daemon runs since [\\d:]+, for \\d+ seconds?\\. Process ${pid} on \\S+ was asked to stop, and stopped\\. Nothing is lost: \\d+ edits wait here, and what changes on the service comes with the first run\\. What you see is of [\\d:]+\\. Start it again \\$ musterd daemon Or do one run now \\$ musterd reconcile$`,
      ),
    );
    await expect
      .poll(() => page.locator('.verdict').innerText())
      .toMatch(/things? to do\s+No daemon keeps default equal\./);
    const other = await openPage(own, alone, 'light');
    await other.page.clock.install();
    await other.page.goto(alone);
    expect(await faultsIn(other.page, allLooks, (look) => `stopped-${look}`)).toEqual([]);
    await cutOff(other.page, true);
    await other.page.clock.fastForward(120_000);
    for (const look of allLooks) {
      await other.page.setViewportSize(looks[look].viewport);
      expect([look, await other.page.locator('#no-answer').isVisible()]).toEqual([look, true]);
      // Only one, the gravest.
      expect([look, await other.page.locator('.banner:visible').count()]).toEqual([look, 1]);
    }
    await other.context.close();
    expect(trouble).toEqual([]);
    await context.close();
    const said = (what: string) =>
      owned(
        stage.db,
        `update sync.learned l set value = (select jsonb_object_agg(e.key, e.value || '${what}') from jsonb_each(l.value) e) where topic = 'daemon'`,
      );
    await said('{"ended_at": null, "how": null, "by_systemd": true, "seen_at": "2026-01-01T00:00Z"}');
    for (const path of ['/runs', '/people', '/counts', '/changes', '/waiting'])
      expect(await text(path)).toMatch(
        /No daemon runs since .* ended without a word\..*systemctl start musterd/s,
      );
    await close();
  });
});

/** What was well is not called so once nobody answers, and is again when somebody does. */
async function expectLate(page: Page, origin: string): Promise<void> {
  onTestFinished(() => showTimesIn('UTC'));
  showTimesIn('Asia/Kolkata');
  await page.clock.install();
  await page.goto(origin);
  const main = async () => (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
  await page.locator('.live.on').waitFor();
  await expect
    .poll(main)
    .toMatch(/^Nothing to do Both sides were equal at [\w :]+, [^.]+\. Next run: [\w :]+\./);
  await expect.poll(() => page.locator('.verdict .ok:visible').count()).toBe(1);
  await cutOff(page, true);
  await page.clock.fastForward(4 * 60_000);
  await expect
    .poll(main)
    .toMatch(
      /^This page is 4 minutes old\. musterd does not answer, so what you see may have changed\. Load again Nothing to do, as of \d\d:\d\d Both sides were equal at [\w :]+\. Whether they still are, this page cannot say\./,
    );
  await expect.poll(() => page.locator('.verdict .ok:visible').count()).toBe(0);
  await expect.poll(main).not.toMatch(/ min ago|\d s ago|just now/);
  const ages = await page.evaluate<readonly boolean[]>(
    `[...document.querySelectorAll('main time')].filter(({ textContent }) => textContent.startsWith('at '))
      .map(({ textContent, title }) => textContent === 'at ' + title.slice(11, 19) && title.endsWith('Asia/Kolkata'))`,
  );
  expect(new Set(ages)).toEqual(new Set([true]));
  await expect.poll(() => page.locator('.live.on').count()).toBe(0);
  expect(await faultsOn(page, 'light')).toEqual([]);
  await shoot(page, 'no-answer');
  await cutOff(page, false);
  await page.clock.fastForward(5_000);
  await page.locator('.live.on').waitFor();
  await page.locator('[data-banner]').waitFor({ state: 'hidden' });
  await page.locator('.verdict .ok').waitFor();
}

describe('the header of fourteen teams', () => {
  it('has them all, with those that need somebody first, and shows one without a script', async () => {
    const database = await createTestDatabase();
    await owned(
      database.db,
      `insert into sync.teams (team, team_id) select 'team-' || n, 40 + n from generate_series(1, 12) n
         union all values ('harbour', 61), ('harbour-test', 62);
       insert into mirror.teams (team_id, name) select team_id, 'Harbour Street Clinic' from sync.teams;
       insert into sync.due (team, run_group, schedule, due_at, stale_after, complete_at)
       select team, 'users', '*/5 * * * *', now(), interval '15 minutes', now() - case team when 'team-3' then interval '1 hour' else interval '1 minute' end
       from sync.teams;
       insert into mirror.users (team_id, id, name, first_name, last_name, resolved) select team_id, 1, 'A B', 'A', 'B', true from sync.teams;
       insert into sync.held_fields (team_id, user_id, field, reason) values (61, 1, 'phone', 'conflict'), (61, 1, 'email', 'conflict'), (62, 1, 'phone', 'conflict')`,
    );
    const { origin, close } = await openMirrorPage(database.db, { details: true });
    const { page, context, trouble } = await openPage(own, origin, 'light', { javaScriptEnabled: false });
    await page.goto(`${origin}/runs`);
    expect((await page.locator('.team option').allInnerTexts()).slice(0, 5)).toEqual([
      'All teams: 14',
      expect.stringMatching(/^team-3, Harbour Street Clinic: stale since [\w :]+$/),
      'harbour, Harbour Street Clinic: 2 things wait',
      'harbour-test, Harbour Street Clinic: 1 thing waits',
      'team-1, Harbour Street Clinic',
    ]);
    await page.getByLabel('Team').selectOption('harbour');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(`${origin}/runs?team=harbour`);
    await page.getByLabel('Team').selectOption('');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(`${origin}/runs?team=`);
    await expect.poll(() => page.locator('h1').textContent()).toBe('Runs');
    expect(trouble).toEqual([]);
    await context.close();
    const drawn = await openPage(own, origin, 'light');
    await drawn.page.goto(origin);
    expect(await faultsIn(drawn.page, allLooks, (look) => `glance-of-teams-${look}`)).toEqual([]);
    await drawn.context.close();
    await close();
    await database.close();
  });
});

describe('the page alone', () => {
  it.each([0, 1, 100_000])(
    'shows each view of a mirror of %i users, and says what is not there',
    async (users) => {
      const database = await createTestDatabase();
      const { db } = database;
      const size = {
        users,
        changes: Math.min(users, 20_000),
        tags: Math.min(users, 1_200),
        days: users > 1 ? 90 : 1,
      };
      if (users > 0) await fillMirror(db, [{ ...largeTeam, ...size }]);
      // The first of each thousand has left.
      if (users === 1) await owned(db, 'update mirror.users set gone_at = null');
      const { origin, warnings, close } = await openMirrorPage(db, { details: true });
      const { page, context, trouble } = await openPage(own, origin, 'light');
      const of = users === 0 ? pageViews.filter(({ path }) => !path.includes(':')) : pageViews;
      for (const { path } of of) {
        const address = await addressOf(db, path);
        const answer = await page.goto(`${origin}${address}`);
        expect([address, answer?.status(), warnings]).toEqual([address, 200, []]);
        expect([address, await page.locator('h1').count()]).toEqual([address, 1]);
        if (users === 0) expect([address, await faultsOn(page, 'light')]).toEqual([address, []]);
        const name = path === '/' ? 'glance' : path.slice(1).replaceAll(/[/:]+/g, '-');
        await shoot(page, `${name}-of-${users}`);
      }
      if (users === 1) await expectLate(page, origin);
      for (const path of ['/runs/999999999', '/messages'])
        expect((await page.request.get(`${origin}${path}`)).status()).toBe(404);
      expect(trouble).toEqual([]);
      await context.close();
      await close();
      await database.close();
    },
  );
});
