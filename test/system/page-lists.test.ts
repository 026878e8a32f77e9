/** Lists that are decided in one go, as people see them: a real browser over a mirror that SQL made. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createPage } from '../../src/daemon/create-page.ts';
import { runSqlText } from '../../src/mirror/sql-text.ts';
import type { Setup } from '../../src/runs/open.ts';
import { createPageServer, type StatusServer } from '../../src/status/server.ts';
import { launchBrowser, type OwnBrowser, openPage, shoot, violationsOn } from '../support/browser.ts';
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
  const config = configSchema.parse({ status: { token, details: true, decide: true } });
  const log = { warn: () => {}, info: () => {}, debug: () => {}, error: () => {} } as unknown as Setup['log'];
  const mirror = { db: database.db } as Setup['mirror'];
  const page = createPage({
    db: database.db,
    configs: () => [config],
    version: '0',
    decide: { mirror, log },
  });
  server = await createPageServer({ host: '127.0.0.1', port: 0, page });
  origin = `http://127.0.0.1:${server.port}`;
  own = await launchBrowser();
});
afterAll(async () => {
  await own.close();
  await server.close();
  await database.close();
});

const widths = [1280, 900, 390, 320] as const;
const schemes = ['light', 'dark'] as const;
const cases = widths.flatMap((width) => schemes.map((scheme) => [width, scheme] as const));

describe('lists, a question and a receipt', () => {
  it.each(cases)('have no fault at %i px, %s', async (width, colorScheme) => {
    const viewport = { width, height: width < 640 ? 844 : 900 };
    const { page, context, trouble } = await openPage(own, origin, 'light', {
      httpCredentials,
      colorScheme,
      viewport,
      isMobile: width < 640,
    });
    const expectNoFault = async (name: string) => {
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect([name, Math.max(0, overflow)]).toEqual([name, 0]);
      expect([name, await violationsOn(page, 'light')]).toEqual([name, []]);
      await shoot(page, `${name}-${width}-${colorScheme}`);
    };
    await page.goto(`${origin}/waiting`);
    await expectNoFault('lists');
    await page.goto(`${origin}/waiting/5f0c2a9e71bd`);
    await expectNoFault('batch');
    await page.goto(`${origin}/waiting?state=conflict`);
    await expectNoFault('list');
    await page.locator('input[name=row]').first().check();
    await page.locator('input[name=row]').nth(6).check();
    await page.getByRole('button', { name: 'Take the service’s' }).click();
    await expectNoFault('question');
    await page.getByLabel('Reason, kept with the decision').fill('they were called');
    await page.getByRole('button', { name: 'Take the service’s 2', exact: true }).click();
    await page.waitForURL('**/waiting?done=*');
    await expectNoFault('receipt');
    if (width === 1280 || width === 390) {
      await page.goto(`${origin}/people/default/80?hold=phone`);
      await expectNoFault('hold');
    }
    expect(trouble).toEqual([]);
    await context.close();
  });

  it('opens a hold in place, whose button says what is chosen, and takes the page along once it is done', async () => {
    const { page, context, trouble } = await openPage(own, origin, 'light', { httpCredentials });
    await page.goto(`${origin}/people/default/81`);
    await page.evaluate('window.isHere = true');
    await page.getByRole('link', { name: 'Hold…' }).click();
    const button = page.locator('#hold button');
    const words = async () => (await button.innerText()).replaceAll(/\s+/g, ' ');
    await button.waitFor();
    expect(await words()).toMatch(/^Hold phone until \d+ \w+ (\d{4} )?\d\d:\d\d$/);
    expect(await page.evaluate('document.activeElement.name')).toBe('field');
    await page.locator('#hold select').selectOption('all');
    await page.locator('#hold [name=at]').fill('2099-03-31T09:00');
    expect(await words()).toBe('Hold all four until then');
    // A page that is being filled in stays as it is.
    await edited('anna', `update mirror.users set email = 'more' || id || '@example.com' where id = 82`);
    await page.getByLabel('Reason, kept with the hold').fill('on leave');
    expect(await page.evaluate('window.isHere')).toBe(true);
    await button.click();
    const end = page.getByRole('link', { name: 'End it now…' });
    await end.waitFor();
    expect(await page.locator('main').innerText()).toContain('Held until 31 Mar 2099 09:00 by');
    await end.click();
    await page.getByRole('button', { name: 'End the hold of the name, email, phone and role now' }).click();
    await end.waitFor({ state: 'detached' });
    expect(await page.locator('main').innerText()).toContain('Take the mirror’s phone');
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

  it.each([true, false])('counts the ticks, with a script or without: %s', async (javaScriptEnabled) => {
    const { page, context } = await openPage(own, origin, 'light', { httpCredentials, javaScriptEnabled });
    await page.goto(`${origin}/waiting?state=conflict`);
    const dashed = () =>
      page.evaluate<string>('getComputedStyle(document.querySelector(".bar-below .button")).borderTopStyle');
    // What the style sheet counts is in no node: a picture of the button differs.
    const button = page.locator('.bar-below .button').first();
    const none = await button.screenshot();
    expect(await dashed()).toBe('dashed');
    await page.locator('input[name=row]').first().check();
    expect(await dashed()).toBe('solid');
    expect((await button.screenshot()).equals(none)).toBe(false);
    await page.getByRole('link', { name: 'All', exact: true }).click();
    await page.locator('input[name=row]:not(:checked)').first().waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'None', exact: true }).click();
    await page.locator('input[name=row]:checked').first().waitFor({ state: 'detached' });
    await context.close();
  });
});
