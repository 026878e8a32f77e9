/** The page as people see it: a real browser over a mirror that SQL made. What it says is told by `test/page`. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import { noteDaemon } from '../../src/mirror/team/known-daemons.ts';
import { showTimesIn } from '../../src/model/zone-time.ts';
import { pageViews } from '../../src/page/serve/page-views.ts';
import { servePage } from '../../src/page/serve/serve-page.ts';
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
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { useDatabase } from '../support/use-database.ts';
import { servePageOf } from './agreed/page-forms.ts';

const token = 'a token of the page for tests';
const httpCredentials = { username: 'kim', password: token };
const batch = '5f0c2a9e71bd';
const conflicts = 100;

/** What others may call themselves. */
const hostile = [
  '<img src=x onerror="document.title=1">',
  '</title><script>alert(1)</script>',
  'Ana \u202Egnp.exe',
  '\u001B[31mred\u001B[0m',
  'x'.repeat(4_000),
];

const database = useDatabase();
/** As a person writes, and as a run does. */
const { rows, force } = database;
const edited = (who: string, text: string) =>
  rows(`begin; set local musterd.actor = '${who}'; ${text}; commit`);
const hold = (where: string, reason: string, service: string, of = 'null') =>
  force(`insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, batch, detail)
    select e.team_id, e.user_id, e.field, e.edit_id, '${reason}', e.old_value, e.new_value, s.value, s.value, ${of},
      case '${reason}' when 'refused' then 'The service answered 400, "email has already been taken"' else '' end
    from sync.edits e cross join lateral (select ${service} as value) s
    where e.ended_at is null and ${where} and not exists (
      select from sync.held_fields h where h.user_id = e.user_id and h.field = e.field)`);

let own: OwnBrowser;
/** Where kim decides. */
let origin: string;
let server: Awaited<ReturnType<typeof servePageOf>>;
const warnings: object[] = [];
const note = { teams: ['default'], bySystemd: false, end: null };

/** The page of a daemon, on which kim decides. */
const serve = (push = {}) => {
  const status = { people: { kim: { token, may: 'decide' } }, details: true };
  const config = configSchema.parse({ push, status });
  return servePageOf(
    database.db,
    () => [config],
    (fields) => void warnings.push(fields),
  );
};

/** The page of `musterd page` until the test is over. @returns its address */
async function serveAlone(db: Database, details = true): Promise<string> {
  const config = configSchema.parse({ status: { details } });
  const log = { warn: (fields: object) => void warnings.push(fields) };
  const server = await servePage({
    db,
    configs: () => [config],
    version: '0',
    host: '127.0.0.1',
    port: 0,
    log,
  });
  onTestFinished(() => server.close());
  return `http://127.0.0.1:${server.port}`;
}

/** Another mirror until the test is over. */
async function createMirror(): Promise<Database> {
  const mirror = await createTestDatabase();
  onTestFinished(() => mirror.close());
  return mirror.db;
}

/** A page of kim's browser until the test is over, in which nothing has gone wrong by then. */
async function open(address = '', more: Parameters<typeof openPage>[3] = {}): Promise<Page> {
  const at = new URL(address, origin);
  const { page, context, trouble } = await openPage(own, at.origin, 'light', { httpCredentials, ...more });
  onTestFinished(async () => {
    const seen = [...trouble];
    await context.close();
    expect([seen, warnings]).toEqual([[], []]);
  });
  await page.goto(at.href);
  return page;
}
const press = (page: Page, name: string | RegExp) =>
  page.getByRole('button', { name, exact: typeof name === 'string' }).click();
const ticks = (page: Page, state = '') => page.locator(`input[name=row]${state}`);
const give = (page: Page, reason: string) =>
  page.getByLabel('Reason, kept with the decision', { exact: true }).fill(reason);

const nameOf = (path: string) => (path === '/' ? 'glance' : path.slice(1).replaceAll(/[/:]+/g, '-'));
/** A view's address, with something that is there: a person who waits, or the last one. */
async function addressOf(db: Database, pattern: string, isLast = false): Promise<string> {
  const one = async (text: string) => {
    const cell = (await runSqlText(db, text)).rows[0]?.[0];
    return typeof cell === 'string' || typeof cell === 'bigint' ? cell.toString() : '0';
  };
  const person = isLast ? 'max(user_id) from report.roster' : 'min(user_id) from report.held';
  const id = await one(`select ${pattern.startsWith('/runs') ? 'max(run_id) from report.runs' : person}`);
  return pattern.replace(':team', 'default').replace(':batch', batch).replace(':id', id);
}

beforeAll(async () => {
  await fillMirror(database.db, [{ ...largeTeam, users: 400, changes: 400, tags: 3, days: 1 }]);
  await force('delete from sync.held_fields');
  for (const [at, name] of hostile.entries())
    for (const table of ['mirror.users', 'sync.user_base'])
      await force(`update ${table} set name = '${name}', first_name = '${name}' where id = ${400 - at}`);
  await edited('front_desk', `update mirror.users set phone = '41' || phone where id between 11 and 73`);
  await edited('anna', `update mirror.users set phone = '42' || phone where id between 74 and 110`);
  await hold(`e.field = 'phone'`, 'conflict', `to_jsonb('43' || (e.old_value #>> '{}'))`);
  await edited('anna', `update mirror.users set role_id = 1 + role_id % 4 where id between 121 and 135`);
  await hold(`e.field = 'role_id'`, 'limit', 'e.old_value');
  await edited('anna', `update mirror.users set email = 'taken.' || email where id = 140`);
  await hold(`e.field = 'email'`, 'refused', 'e.old_value');
  await edited(
    'directory_sync',
    `update mirror.users set email = 'long.name.of.user' || id || '@harbour-street-clinic.example' where id between 201 and 260`,
  );
  await hold(`e.field = 'email'`, 'review', 'e.old_value', `'${batch}'`);
  await edited(
    'directory_sync',
    `update mirror.users set phone = '44' || phone where id between 201 and 205`,
  );
  await hold(`e.field = 'phone'`, 'review', 'e.old_value', `'${batch}'`);
  own = await launchBrowser();
  server = await serve();
  ({ origin } = server);
});
afterAll(async () => {
  await own.close();
  await server.close();
});

describe('the page in a browser', () => {
  it('shows each view without layout or accessibility faults on all screen sizes, light and dark', async () => {
    const page = await open();
    for (const { path } of pageViews) {
      const [first, last] = [await addressOf(database.db, path), await addressOf(database.db, path, true)];
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
        const faults = await faultsIn(page, looksOfIt, (look) => `${nameOf(path)}-${look}`);
        expect([address, faults]).toEqual([address, []]);
      }
    }
  });

  it('lets the Tab key reach each link and button, and opens a tab with Enter', async () => {
    const page = await open();
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
  });

  it('disables the decision buttons while musterd does not answer, and names the reason', async () => {
    const page = await open();
    await page.clock.install();
    await page.goto(`${origin}/waiting/${batch}`);
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
  });

  it('shows no name, email or phone in views and CSV files if details are off (S28)', async () => {
    const quiet = await serveAlone(database.db, false);
    const secrets = (
      await rows(
        `select name from mirror.users where length(name) > 6 and length(name) < 100
         union all select email from mirror.users where email is not null
         union all select phone from mirror.users where length(phone) > 8`,
      )
    ).flat() as string[];
    expect(secrets.length).toBeGreaterThan(1_000);
    for (const { path, csv } of pageViews) {
      const address = await addressOf(database.db, path);
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
  });

  it('shows in an open tab that the daemon stopped, and only the no-answer banner once musterd is unreachable', async () => {
    await noteDaemon(database.db, note);
    const alone = await serveAlone(database.db);
    const page = await open(alone);
    await expect.poll(() => page.locator('.verdict').innerText()).not.toContain('No daemon');
    // What has changed since is told from what was so when the page was first told of anything.
    await page.evaluate(
      `new Promise((resolve) => { const events = new EventSource('/events'); events.addEventListener('alive', () => { events.close(); resolve(); }); })`,
    );
    await noteDaemon(database.db, { ...note, end: 'asked' });
    await page.locator('main > .banner:visible', { hasText: 'No daemon runs since' }).waitFor();
    await expect
      .poll(() => page.locator('.verdict').innerText())
      .toMatch(/things? to do\s+No daemon keeps default equal\./);
    await page.clock.install();
    await page.goto(alone);
    expect(await faultsIn(page, allLooks, (look) => `stopped-${look}`)).toEqual([]);
    await cutOff(page, true);
    await page.clock.fastForward(120_000);
    for (const look of allLooks) {
      await page.setViewportSize(looks[look].viewport);
      expect([look, await page.locator('#no-answer').isVisible()]).toEqual([look, true]);
      // Only one, the gravest.
      expect([look, await page.locator('.banner:visible').count()]).toEqual([look, 1]);
    }
  });

  it('shows the banner of a copied database without layout or accessibility faults', async () => {
    const moved = { kind: 'home', identifier: null, database: '1', since: '2026-03-09T02:00:00Z' };
    const place = { ...moved, by: 'kim', why: 'staging', addresses: [{ at: 'db-1:5432/m', machine: null }] };
    const say = (value: object) =>
      force(`insert into sync.learned (team, topic, value) values ('', 'place', '${JSON.stringify(value)}')
        on conflict (team, topic) do update set value = excluded.value`);
    onTestFinished(async () => void (await force(`delete from sync.learned where topic = 'place'`)));
    await say(place);
    const page = await open();
    await page.locator('.banner', { hasText: 'This is a copy.' }).waitFor();
    expect(await faultsIn(page, allLooks, (look) => `copy-unsaid-glance-${look}`)).toEqual([]);
    const [[here] = []] = await rows('select oid::text from pg_database where datname = current_database()');
    await say({ ...place, kind: 'copy', database: here, addresses: [database.db.address] });
    await page.goto(`${origin}/waiting/${batch}`);
    await page.locator('.banner.meant').waitFor();
    expect(await faultsIn(page, ['light'], (look) => `copy-meant-waiting-${look}`)).toEqual([]);
  });
});

describe('the page that lists held edits', () => {
  it('shows its list, confirmation, receipt and hold form without layout or accessibility faults', async () => {
    const page = await open('/waiting?state=conflict');
    const expectNoFault = async (name: string) => {
      const named = (look: Look) => `${name}-${looks[look].viewport.width}-${looks[look].colorScheme}`;
      expect([name, await faultsIn(page, allLooks, named)]).toEqual([name, []]);
    };
    await expectNoFault('list');
    await page.setViewportSize(looks.phone.viewport);
    await shoot(page, 'list-390-dark');
    await ticks(page).first().check();
    await ticks(page).nth(6).check();
    await press(page, /^Take the service’s/);
    await expectNoFault('question');
    await give(page, 'they were called');
    await press(page, 'Take the service’s 2');
    await page.waitForURL('**/waiting?done=*');
    await expectNoFault('receipt');
    await page.goto(`${origin}/people/default/80`);
    await page.locator('summary', { hasText: 'Leave it alone' }).click();
    await expectNoFault('hold');
  });

  it('keeps a half-filled hold form while an edit refreshes the page', async () => {
    const page = await open('/people/default/81');
    await page.evaluate('window.isHere = true');
    await page.locator('summary', { hasText: 'Leave it alone' }).click();
    await page.locator('.hold select').selectOption('all');
    await page.locator('.hold [name=at]').fill('2099-03-31T09:00');
    await expect.poll(() => page.locator('.hold [value=at]').isChecked()).toBe(true);
    await edited('anna', `update mirror.users set email = 'more' || id || '@example.com' where id = 82`);
    await page.getByLabel('Reason, kept with the hold').fill('on leave');
    await expect.poll(() => page.evaluate('window.isHere')).toBe(true);
    await press(page, 'Hold until then');
    await expect.poll(() => page.locator('main').innerText()).toContain('Held until 31 Mar 2099 09:00 by');
  });

  it('keeps rows lower than 38 pixels, and keeps header and buttons in view while a long list scrolls', async () => {
    const page = await open('/waiting?state=conflict&ticks=none');
    const shown = page.locator('.rows tbody tr:not(.under)');
    const left = await shown.count();
    expect(left).toBeGreaterThan(conflicts / 2);
    const height = await page.evaluate<number>('document.querySelector(".rows tbody").offsetHeight');
    expect(height / left).toBeLessThanOrEqual(37);
    await shown.nth(10).scrollIntoViewIfNeeded();
    await page.evaluate('scrollTo(0, 1500)');
    const [head, foot] = await page.evaluate<readonly [number, number]>(
      '[document.querySelector(".rows thead th").getBoundingClientRect().top, document.querySelector(".bar-below").getBoundingClientRect().bottom]',
    );
    expect([Math.round(head), Math.round(foot)]).toEqual([0, 900]);
  });

  it('lets a person filter, tick and approve rows with a reason, and shows the receipt, without JavaScript', async () => {
    const page = await open(`/waiting/${batch}`, { javaScriptEnabled: false });
    await page.getByLabel('Every field').selectOption('phone (5)');
    await press(page, 'Search');
    await expect.poll(() => ticks(page, ':checked').count()).toBe(5);
    await ticks(page).nth(1).uncheck();
    await press(page, /^Approve/);
    await expect.poll(() => page.locator('h1').textContent()).toBe('Approve 4 of 65?');
    // The browser asks for the reason by itself.
    await press(page, 'Approve 4');
    await expect.poll(() => page.locator('h1').textContent()).toContain('Approve 4');
    await give(page, 'the numbers are right');
    await press(page, 'Approve 4');
    await page.waitForURL('**/waiting?done=*');
    const receipt = page.locator('#receipt');
    await expect.poll(() => receipt.textContent()).toContain('4 phone numbers approved by you at');
    await page.getByRole('link', { name: 'Load again', exact: true }).click();
    await expect.poll(() => receipt.count()).toBe(1);
    await page.getByRole('link', { name: 'Close', exact: true }).click();
    await expect.poll(() => receipt.count()).toBe(0);
  });

  it('updates the receipt of an approval without a reload, when the approved edits are sent and confirmed', async () => {
    await noteDaemon(database.db, note);
    const page = await open(`/waiting/${batch}?ticks=none`);
    await ticks(page).nth(30).check();
    await ticks(page).nth(31).check();
    await press(page, /^Approve/);
    await give(page, 'they are right');
    await press(page, 'Approve 2');
    await page.waitForURL('**/waiting?done=*');
    const says = (words: string) => page.locator('#receipt', { hasText: words }).waitFor();
    await says('The daemon begins with it now.');
    await page.evaluate('window.isOld = true');
    await force(`
      insert into sync.changes (team_id, user_id, run_id, kind, state, base, old, new, edits, outcome, sent_at, closed_at)
      select team_id, user_id, (select max(run_id) from sync.runs), 'push', case nth when 1 then 'closed' else 'open' end, base, old, new, edits,
        case nth when 1 then '{"email": "confirmed"}'::jsonb else '{}' end, now(), case nth when 1 then clock_timestamp() end
      from (
        select *, row_number() over (order by user_id) as nth from sync.changes
        where kind = 'approve' and decision_id = (select max(decision_id) from sync.changes)
      ) c;
      update sync.edits set ended_at = now(), ended_how = 'agreed' where ended_at is null and field = 'email' and user_id = (
        select min(user_id) from sync.changes where kind = 'approve' and decision_id = (select max(decision_id) from sync.changes))`);
    await says('1 confirmed; 1 being sent');
    await shoot(page, 'receipt-under-way-light');
    await expect.poll(() => page.evaluate('window.isOld')).toBe(true);
    await noteDaemon(database.db, { ...note, end: 'asked' });
  });

  it('shows with push.fourEyes that the 2 edits of the approver are left out of the approval', async () => {
    await edited('kim', `update mirror.users set phone = '44' || phone where id in (206, 207)`);
    await hold(`e.field = 'phone'`, 'review', 'e.old_value', `'${batch}'`);
    const other = await serve({ fourEyes: true });
    onTestFinished(() => other.close());
    const page = await open(`${other.origin}/waiting/${batch}?sort=person`);
    await page.getByText('2 your own. Rows without a tick wait on.').waitFor();
    expect(await faultsOn(page, 'light')).toEqual([]);
    await shoot(page, 'batch-own-1280-light');
    await press(page, /^Approve/);
    await page.getByText('Still waiting: ').waitFor();
    expect(await faultsOn(page, 'light')).toEqual([]);
    await shoot(page, 'question-own-1280-light');
  });

  it('changes the button when a row is ticked, and ticks all rows or no row by the links All and None', async () => {
    const page = await open('/waiting?state=conflict');
    // What the style sheet counts is in no node: a picture of the button differs.
    const button = page.locator('.bar-below .button').first();
    const none = await button.screenshot();
    await ticks(page).first().check();
    expect((await button.screenshot()).equals(none)).toBe(false);
    await page.getByRole('link', { name: 'All', exact: true }).click();
    await ticks(page, ':not(:checked)').first().waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'None', exact: true }).click();
    await ticks(page, ':checked').first().waitFor({ state: 'detached' });
  });
});

describe('the team list in the page header', () => {
  it('lists stale teams first, then teams with held fields, and switches teams without JavaScript', async () => {
    const db = await createMirror();
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on';
       insert into sync.teams (team, team_id) select 'team-' || n, 40 + n from generate_series(1, 12) n
         union all values ('harbour', 61), ('harbour-test', 62);
       insert into mirror.teams (team_id, name) select team_id, 'Harbour Street Clinic' from sync.teams;
       insert into sync.due (team, run_group, schedule, due_at, stale_after, complete_at)
       select team, 'users', '*/5 * * * *', now(), interval '15 minutes', now() - case team when 'team-3' then interval '1 hour' else interval '1 minute' end
       from sync.teams;
       insert into mirror.users (team_id, id, name, first_name, last_name, resolved) select team_id, 1, 'A B', 'A', 'B', true from sync.teams;
       insert into sync.held_fields (team_id, user_id, field, reason) values (61, 1, 'phone', 'conflict'), (61, 1, 'email', 'conflict'), (62, 1, 'phone', 'conflict');
       commit`,
    );
    const alone = await serveAlone(db);
    const page = await open(`${alone}/runs`, { javaScriptEnabled: false });
    expect((await page.locator('.team option').allInnerTexts()).slice(0, 5)).toEqual([
      'All teams: 14',
      expect.stringMatching(/^team-3, Harbour Street Clinic: stale since [\w :]+$/),
      'harbour, Harbour Street Clinic: 2 things wait',
      'harbour-test, Harbour Street Clinic: 1 thing waits',
      'team-1, Harbour Street Clinic',
    ]);
    for (const team of ['harbour', '']) {
      await page.getByLabel('Team').selectOption(team);
      await press(page, 'Show');
      await page.waitForURL(`${alone}/runs?team=${team}`);
    }
    const drawn = await open(alone);
    expect(await faultsIn(drawn, allLooks, (look) => `glance-of-teams-${look}`)).toEqual([]);
  });
});

describe('musterd page', () => {
  it('shows each view of an empty mirror without layout or accessibility faults', async () => {
    const alone = await serveAlone(await createMirror());
    const page = await open(alone);
    for (const { path } of pageViews.filter((view) => !view.path.includes(':'))) {
      const answer = await page.goto(`${alone}${path}`);
      expect([path, answer?.status()]).toEqual([path, 200]);
      expect([path, await page.locator('h1').count()]).toEqual([path, 1]);
      expect([path, await faultsOn(page, 'light')]).toEqual([path, []]);
    }
    for (const path of ['/runs/999999999', '/messages'])
      expect((await page.request.get(`${alone}${path}`)).status()).toBe(404);
  });

  it('hides the "all is well" sign while musterd does not answer, and shows the sign after the next answer', async () => {
    onTestFinished(() => showTimesIn('UTC'));
    showTimesIn('Asia/Kolkata');
    const page = await open(await serveAlone(await createMirrorOf(1)));
    await page.clock.install();
    await page.reload();
    const main = async () => (await page.locator('main').innerText()).replaceAll(/\s+/g, ' ');
    await page.locator('.live.on').waitFor();
    await expect
      .poll(main)
      .toMatch(/^Nothing to do Both sides were compared last at [\w :]+, [^.]+\. Next run: [\w :]+\./);
    await expect.poll(() => page.locator('.verdict .ok:visible').count()).toBe(1);
    await cutOff(page, true);
    await page.clock.fastForward(4 * 60_000);
    await expect
      .poll(main)
      .toMatch(
        /^This page is 4 minutes old\. musterd does not answer, so what you see may have changed\. Load again Nothing to do, as of \d\d:\d\d Both sides were compared last at [\w :]+\. What has changed since, this page cannot say\./,
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
  });

  it.runIf(process.env['UPDATE_PICTURES'] !== undefined).each([1, 100_000])(
    'takes screenshots of a mirror of %i users for the documents',
    async (users) => {
      const db = await createMirrorOf(users);
      const alone = await serveAlone(db);
      const page = await open(alone);
      for (const { path } of pageViews) {
        await page.goto(`${alone}${await addressOf(db, path, true)}`);
        await shoot(page, `${nameOf(path)}-of-${users}`);
      }
    },
  );
});

/** A mirror of so many users until the test is over. */
async function createMirrorOf(users: number): Promise<Database> {
  const db = await createMirror();
  const changes = Math.min(users, 20_000);
  const tags = Math.min(users, 1_200);
  await fillMirror(db, [{ ...largeTeam, users, changes, tags, days: users > 1 ? 90 : 1 }]);
  // The first of each thousand has left.
  if (users === 1)
    await runSqlText(
      db,
      `begin; set local musterd.writing = 'on'; update mirror.users set gone_at = null; commit`,
    );
  return db;
}
