/** Lists that are decided in one go, as people see them: a real browser over a mirror that SQL made. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createPage } from '../../src/page/serve/create-page.ts';
import type { Database } from '../../src/mirror/db/database.ts';
import { noteDaemon } from '../../src/mirror/team/known-daemons.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import type { Setup } from '../../src/runs/open.ts';
import { createPageServer, type StatusServer } from '../../src/http/server.ts';
import { pageRoutes } from '../../src/page/serve/page-routes.ts';
import {
  allLooks,
  faultsIn,
  faultsOn,
  launchBrowser,
  type Look,
  looks,
  type OwnBrowser,
  openPage,
  shoot,
} from '../support/browser.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';

const token = 'a token of the page for tests';
const httpCredentials = { username: 'kim', password: token };
const conflicts = 100;

let database: TestDatabase;
let server: StatusServer;
let own: OwnBrowser;
let origin: string;

const owned = async (text: string) =>
  await runSqlText(database.db, `begin; set local musterd.writing = 'on'; ${text}; commit`);
const edited = async (who: string, text: string) =>
  await runSqlText(database.db, `begin; set local musterd.actor = '${who}'; ${text}; commit`);
const hold = (where: string, reason: string, service: string, batch = 'null') =>
  owned(`insert into sync.held_fields (team_id, user_id, field, edit_id, reason, base_value, mirror_value, service_value, shown_value, batch, detail)
    select e.team_id, e.user_id, e.field, e.edit_id, '${reason}', e.old_value, e.new_value, s.value, s.value, ${batch}, ''
    from sync.edits e cross join lateral (select ${service} as value) s
    where e.ended_at is null and ${where} and not exists (
      select from sync.held_fields h where h.user_id = e.user_id and h.field = e.field)`);

beforeAll(async () => {
  database = await createTestDatabase();
  await fillMirror(database.db, [{ ...largeTeam, users: 400, changes: 400, tags: 1, days: 1 }]);
  await owned('delete from sync.held_fields');
  await edited('front_desk', `update mirror.users set phone = '41' || phone where id between 11 and 73`);
  await edited('anna', `update mirror.users set phone = '42' || phone where id between 74 and 110`);
  await hold(`e.field = 'phone'`, 'conflict', `to_jsonb('43' || (e.old_value #>> '{}'))`);
  await edited('anna', `update mirror.users set role_id = 1 + role_id % 4 where id between 121 and 135`);
  await hold(`e.field = 'role_id'`, 'limit', 'e.old_value');
  await edited(
    'directory_sync',
    `update mirror.users set email = 'long.name.of.user' || id || '@harbour-street-clinic.example' where id between 201 and 260`,
  );
  await hold(`e.field = 'email'`, 'review', 'e.old_value', `'5f0c2a9e71bd'`);
  await edited(
    'directory_sync',
    `update mirror.users set phone = '44' || phone where id between 201 and 205`,
  );
  await hold(`e.field = 'phone'`, 'review', 'e.old_value', `'5f0c2a9e71bd'`);
  ({ server, origin } = await servePage(database.db));
  own = await launchBrowser();
});
/** A page on which kim decides. */
async function servePage(db: Database, push = {}, others = {}) {
  const people = { kim: { token, may: 'decide' }, ...others };
  const config = configSchema.parse({ push, status: { people, details: true } });
  const log = { warn: () => {}, info: () => {}, debug: () => {}, error: () => {} } as unknown as Setup['log'];
  const mirror = { db } as Setup['mirror'];
  const page = createPage({
    db,
    configs: () => [config],
    version: '0',
    decide: { mirror, log },
  });
  const opened = await createPageServer({ host: '127.0.0.1', port: 0, page: pageRoutes(page) });
  return { server: opened, origin: `http://127.0.0.1:${opened.port}` };
}
afterAll(async () => {
  await own.close();
  await server.close();
  await database.close();
});

describe('lists, a question and a receipt', () => {
  it('say of each edit who made it, and show those of one person alone', async () => {
    const { page, context } = await openPage(own, origin, 'light', { httpCredentials });
    await page.goto(`${origin}/waiting?state=conflict`);
    await expect
      .poll(() => page.locator('main').innerText())
      .toMatch(/Edited here by front_desk \(63\), anna \(37\)/);
    await expect.poll(() => page.locator('input[name=row]').count()).toBe(100);
    await page.goto(`${origin}/waiting?state=conflict&editedBy=anna`);
    await expect.poll(() => page.locator('input[name=row]').count()).toBe(37);
    await context.close();
  });

  it('have no fault, in all looks', async () => {
    const { page, context, trouble } = await openPage(own, origin, 'light', { httpCredentials });
    const expectNoFault = async (name: string) => {
      const nameOf = (look: Look) => `${name}-${looks[look].viewport.width}-${looks[look].colorScheme}`;
      expect([name, await faultsIn(page, allLooks, nameOf)]).toEqual([name, []]);
    };
    await page.goto(`${origin}/waiting`);
    await expectNoFault('lists');
    await page.goto(`${origin}/waiting/5f0c2a9e71bd`);
    await expectNoFault('batch');
    await page.goto(`${origin}/waiting?state=conflict`);
    await expectNoFault('list');
    await page.setViewportSize(looks.phone.viewport);
    await shoot(page, 'list-390-dark');
    await page.locator('input[name=row]').first().check();
    await page.locator('input[name=row]').nth(6).check();
    await page.getByRole('button', { name: 'Take the service’s' }).click();
    await expectNoFault('question');
    await page.getByLabel('Reason, kept with the decision').fill('they were called');
    await page.getByRole('button', { name: 'Take the service’s 2', exact: true }).click();
    await page.waitForURL('**/waiting?done=*');
    await expectNoFault('receipt');
    await page.goto(`${origin}/people/default/80`);
    await page.locator('summary', { hasText: 'Leave it alone' }).click();
    await expectNoFault('hold');
    expect(trouble).toEqual([]);
    await context.close();
  });

  it('takes a hold without a script, and keeps what is being filled in as it is', async () => {
    const { page, context, trouble } = await openPage(own, origin, 'light', { httpCredentials });
    await page.goto(`${origin}/people/default/81`);
    await page.evaluate('window.isHere = true');
    await page.locator('summary', { hasText: 'Leave it alone' }).click();
    await page.locator('.hold select').selectOption('all');
    await page.locator('.hold [name=at]').fill('2099-03-31T09:00');
    await expect.poll(() => page.locator('.hold [value=at]').isChecked()).toBe(true);
    await edited('anna', `update mirror.users set email = 'more' || id || '@example.com' where id = 82`);
    await page.getByLabel('Reason, kept with the hold').fill('on leave');
    await expect.poll(() => page.evaluate('window.isHere')).toBe(true);
    await page.getByRole('button', { name: 'Hold until then' }).click();
    const end = page.getByRole('button', { name: 'End it now' });
    await end.waitFor();
    await expect.poll(() => page.locator('main').innerText()).toContain('Held until 31 Mar 2099 09:00 by');
    await end.click();
    await end.waitFor({ state: 'detached' });
    await expect.poll(() => page.locator('main').innerText()).toContain('Take the mirror’s');
    expect(trouble).toEqual([]);
    await context.close();
  });

  it('shows twenty rows at once, and all of them on five screens', async () => {
    const { page, context } = await openPage(own, origin, 'light', { httpCredentials });
    await page.goto(`${origin}/waiting?state=conflict&ticks=none`);
    const rows = page.locator('.rows tbody tr:not(.under)');
    const left = await rows.count();
    expect(left).toBeGreaterThan(conflicts / 2);
    const height = await page.evaluate<number>('document.querySelector(".rows tbody").offsetHeight');
    expect(height / left).toBeLessThanOrEqual(37);
    await rows.nth(10).scrollIntoViewIfNeeded();
    await page.evaluate('scrollTo(0, 1500)');
    const [head, foot] = await page.evaluate<readonly [number, number]>(
      '[document.querySelector(".rows thead th").getBoundingClientRect().top, document.querySelector(".bar-below").getBoundingClientRect().bottom]',
    );
    expect([Math.round(head), Math.round(foot)]).toEqual([0, 900]);
    await context.close();
  });

  it('work without a script: ticks, sorting, filters, question, reason, receipt', async () => {
    const { page, context, trouble } = await openPage(own, origin, 'light', {
      httpCredentials,
      javaScriptEnabled: false,
    });
    const link = (name: string | RegExp) => page.getByRole('link', { name, exact: true });
    const ticked = () => page.locator('input[name=row]:checked').count();
    const rows = () => page.locator('input[name=row]').count();
    await page.goto(`${origin}/waiting`);
    await link('To be approved 65').click();
    await page.goto(`${origin}/waiting/5f0c2a9e71bd`);
    await page.getByLabel('Every field').selectOption('phone (5)');
    await page.getByRole('button', { name: 'Search' }).click();
    await expect.poll(async () => [await rows(), await ticked()]).toEqual([5, 5]);
    await link('Person').click();
    await expect.poll(() => page.locator('th[aria-sort=ascending]').textContent()).toContain('Person');
    await link('None').click();
    await expect.poll(ticked).toBe(0);
    await page.getByRole('button', { name: 'Approve' }).click();
    await expect.poll(() => page.locator('#note').textContent()).toContain('No row is ticked.');
    await link('All').click();
    await expect.poll(ticked).toBe(5);
    await page.locator('input[name=row]').nth(1).uncheck();
    await page.getByRole('button', { name: 'Approve' }).click();
    await expect.poll(() => page.locator('h1').textContent()).toBe('Approve 4 of 65?');
    await link('Back').click();
    await expect.poll(async () => [await rows(), await ticked()]).toEqual([5, 4]);
    await page.getByRole('button', { name: 'Approve' }).click();
    // The browser asks for the reason by itself.
    await page.getByRole('button', { name: 'Approve 4', exact: true }).click();
    await expect.poll(() => page.locator('h1').textContent()).toContain('Approve 4');
    await page.getByLabel('Reason, kept with the decision').fill('the numbers are right');
    await page.getByRole('button', { name: 'Approve 4', exact: true }).click();
    await page.waitForURL('**/waiting?done=*');
    const receipt = page.locator('#receipt');
    await expect.poll(() => receipt.textContent()).toContain('4 phone numbers approved by you at');
    await link('Load again').click();
    await expect.poll(() => receipt.count()).toBe(1);
    await link('Close').click();
    await expect.poll(() => receipt.count()).toBe(0);
    await link('manual').click();
    await expect.poll(() => page.locator('pre').textContent()).toContain('# ');
    expect(trouble).toEqual([]);
    const two = await createTestDatabase();
    const small = { ...largeTeam, users: 1, changes: 1, tags: 1, days: 1 };
    await fillMirror(two.db, [small, { ...small, team: 'north', teamId: 8 }]);
    const other = await servePage(two.db);
    await page.goto(other.origin);
    await page.getByLabel('Team', { exact: true }).selectOption('north');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.waitForURL(`${other.origin}/?team=north`);
    await context.close();
    await other.server.close();
    await two.close();
  });

  it('say each second what became of what was decided, in their place', async () => {
    const note = { bySystemd: false, end: null };
    const { page, context, trouble } = await openPage(own, origin, 'light', { httpCredentials });
    const ask = async () => {
      await page.goto(`${origin}/waiting/5f0c2a9e71bd?ticks=none`);
      await page.locator('input[name=row]').nth(30).check();
      await page.locator('input[name=row]').nth(31).check();
      await page.getByRole('button', { name: 'Approve' }).click();
    };
    await noteDaemon(database.db, { ...note, teams: ['another'] });
    await ask();
    await expect
      .poll(() => page.getByText('Sent by the next run, in 1 request; no daemon runs').count())
      .toBe(1);
    await noteDaemon(database.db, { ...note, teams: ['default'] });
    await ask();
    await expect.poll(() => page.getByText('Sent at once, by the daemon, in 1 request').count()).toBe(1);
    await page.getByLabel('Reason, kept with the decision').fill('they are right');
    await page.getByRole('button', { name: 'Approve 2', exact: true }).click();
    await page.waitForURL('**/waiting?done=*');
    const says = async (words: string) => await page.locator('#receipt', { hasText: words }).waitFor();
    await says('The daemon begins with it now.');
    await page.evaluate('window.isOld = true');
    const push = (which: string, state: string, outcome: string) =>
      owned(`insert into sync.changes (team_id, user_id, run_id, kind, state, base, old, new, edits, outcome, sent_at, closed_at)
        select team_id, user_id, (select max(run_id) from sync.runs), 'push', '${state}', base, old, new, edits, '${outcome}', now(),
          case '${state}' when 'closed' then clock_timestamp() end
        from sync.changes where kind = 'approve' and user_id = (
          select ${which}(user_id) from sync.changes where kind = 'approve' and decision_id = (select max(decision_id) from sync.changes))
        order by change_id desc limit 1`);
    await push('min', 'closed', '{"email": "confirmed"}');
    await owned(`update sync.edits set ended_at = now(), ended_how = 'agreed' where ended_at is null and field = 'email' and user_id = (
      select min(user_id) from sync.changes where kind = 'approve' and decision_id = (select max(decision_id) from sync.changes))`);
    await push('max', 'open', '{}');
    await says('1 confirmed; 1 being sent');
    await shoot(page, 'receipt-under-way-light');
    await owned(
      `update sync.changes set state = 'closed', outcome = '{"email": "confirmed"}', closed_at = clock_timestamp() where state = 'open';
       update sync.edits set ended_at = now(), ended_how = 'agreed' where ended_at is null and field = 'email' and user_id = (
         select max(user_id) from sync.changes where kind = 'push')`,
    );
    await says('2 confirmed');
    await expect.poll(() => page.evaluate('window.isOld')).toBe(true);
    expect(trouble).toEqual([]);
    await context.close();
    await noteDaemon(database.db, { ...note, teams: ['default'], end: 'asked' });
  });

  it('say three times which edits are of whoever looks', async () => {
    await edited('kim', `update mirror.users set phone = '44' || phone where id in (206, 207)`);
    await hold(`e.field = 'phone'`, 'review', 'e.old_value', `'5f0c2a9e71bd'`);
    const other = await servePage(database.db, { fourEyes: true });
    const { page, context, trouble } = await openPage(own, other.origin, 'light', { httpCredentials });
    await page.goto(`${other.origin}/waiting/5f0c2a9e71bd?sort=person`);
    await page.getByText('2 your own. Rows without a tick wait on.').waitFor();
    expect(await faultsOn(page, 'light')).toEqual([]);
    await shoot(page, 'batch-own-1280-light');
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Waiting on: ').waitFor();
    expect(await faultsOn(page, 'light')).toEqual([]);
    await shoot(page, 'question-own-1280-light');
    expect(trouble).toEqual([]);
    await context.close();
    await other.server.close();
  });

  it('lets two people find what waits and whom it is about, and only one of them decide', async () => {
    const batch = 'acc1de17acc1';
    await edited('hr', `update mirror.users set phone = '49' || phone where id between 301 and 305`);
    await hold(`e.field = 'phone' and e.user_id > 300`, 'limit', 'e.old_value', `'${batch}'`);
    await owned(
      `update sync.held_fields set detail = 'user ' || user_id || ' is to get a phone of somebody' where batch = '${batch}'`,
    );
    const people = { bo: { token: 'another token for tests', may: 'look' } };
    const both = await servePage(database.db, {}, people);
    const bo = { username: 'bo', password: 'another token for tests' };
    const looks = await openPage(own, both.origin, 'light', { httpCredentials: bo });
    const seen = async (where: string) =>
      (await looks.page.locator(where).innerText()).replaceAll(/\s+/g, ' ');
    await looks.page.goto(both.origin);
    await looks.page.locator(`#batch-${batch} a`).click();
    await looks.page.waitForURL(`**/waiting/${batch}`);
    expect(await seen('main')).toContain('You may look, and kim may decide (status.people).');
    for (let id = 301; id <= 305; id += 1)
      expect(await seen('main')).toContain(`User ${id} is to get a phone of somebody.`);
    await looks.page.getByRole('link', { name: 'People' }).click();
    await looks.page.getByLabel('Name, email, phone or id').fill('rêed303');
    await looks.page.getByRole('button', { name: 'Search' }).click();
    await looks.page.getByRole('link', { name: 'Robin Reed303' }).click();
    expect(await seen('main')).toMatch(/Phone: User 303 is to get a phone of somebody\..* edited here hr/i);
    await expect.poll(() => looks.page.locator('form[method=post]').count()).toBe(0);

    const { page, context, trouble } = await openPage(own, both.origin, 'phone', { httpCredentials });
    await page.goto(both.origin);
    await page.locator(`#batch-${batch} a`).click();
    // Of an accident, what puts it back comes first.
    const buttons = await page.locator('.bar-below .button').allInnerTexts();
    expect(buttons.map((words) => words.replace(/\W+$/, ''))).toEqual([
      'Reject and put back',
      'Reject',
      'Approve',
    ]);
    await page.locator('.bar-below .main').click();
    await expect.poll(() => page.locator('h1').textContent()).toBe('Reject and put back 5?');
    await page.getByLabel('Reason, kept with the decision').fill('the wrong column');
    await page.getByRole('button', { name: 'Reject and put back 5' }).click();
    const done = '5 phone numbers put back to what both sides last agreed on';
    await expect.poll(() => page.locator('#receipt').textContent()).toContain(`${done} by you at`);
    await looks.page.goto(`${both.origin}/waiting`);
    expect(await seen('main')).toMatch(new RegExp(`Decided last.* kim ${done}`));

    const run = 77_001;
    await owned(`insert into sync.runs (run_id, team, team_id, command, outcome, counts, finished_at) overriding system value
        values (${run}, 'default', 41, 'daemon', 'complete', '{"pushed": 1}', now());
      insert into sync.changes (team_id, user_id, run_id, kind, state, base, old, new, edits, outcome, closed_at)
      select 41, id, ${run}, 'push', 'closed', v, v, jsonb_build_object('email', email), '{"email": 1}', '{"email": "confirmed"}', now()
      from sync.user_base, lateral (select '{"email": "before@example.com"}'::jsonb as v) x where id = 390`);
    await looks.page.goto(`${both.origin}/runs/${run}`);
    expect(await seen('main')).toContain('You may look, and kim may decide (status.people).');
    await page.goto(`${both.origin}/runs/${run}`);
    await page.getByRole('button', { name: 'Take back what run 77,001 has moved…' }).click();
    await expect.poll(() => page.locator('h1').textContent()).toBe('Take back the email of Robin Reed390?');
    expect(await faultsOn(page, 'phone')).toEqual([]);
    await page.getByLabel('Reason, kept with the decision').fill('the wrong file');
    await page.getByRole('button', { name: 'Take back 1' }).click();
    await expect
      .poll(() => page.locator('#receipt').textContent())
      .toContain('1 email address approved by you at');
    expect((await runSqlText(database.db, 'select email from mirror.users where id = 390')).rows).toEqual([
      ['before@example.com'],
    ]);
    expect([...trouble, ...looks.trouble]).toEqual([]);
    await context.close();
    await looks.context.close();
    await both.server.close();
  });

  it.each([true, false])('counts the ticks, with a script or without: %s', async (javaScriptEnabled) => {
    const { page, context } = await openPage(own, origin, 'light', { httpCredentials, javaScriptEnabled });
    await page.goto(`${origin}/waiting?state=conflict`);
    // What the style sheet counts is in no node: a picture of the button differs.
    const button = page.locator('.bar-below .button').first();
    const none = await button.screenshot();
    await page.locator('input[name=row]').first().check();
    expect((await button.screenshot()).equals(none)).toBe(false);
    await page.getByRole('link', { name: 'All', exact: true }).click();
    await page.locator('input[name=row]:not(:checked)').first().waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'None', exact: true }).click();
    await page.locator('input[name=row]:checked').first().waitFor({ state: 'detached' });
    await context.close();
  });
});
