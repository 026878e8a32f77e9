/** Scheduled messages as people see them: a real browser over a mirror that SQL made. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { configSchema } from '../../src/config/config.ts';
import { createPageServer, type StatusServer } from '../../src/http/server.ts';
import { createPage } from '../../src/page/serve/create-page.ts';
import { pageRoutes } from '../../src/page/serve/page-routes.ts';
import { runSqlText } from '../../src/mirror/db/sql-text.ts';
import type { Setup } from '../../src/runs/open.ts';
import {
  allLooks,
  faultsIn,
  launchBrowser,
  type Look,
  looks,
  openPage,
  type OwnBrowser,
} from '../support/browser.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { fillMirror, largeTeam } from '../support/large-mirror.ts';
import { fillMessages, keyOf } from '../support/messages.ts';

const token = 'a token of the page for tests';
const httpCredentials = { username: 'kim', password: token };

let database: TestDatabase;
let server: StatusServer;
let own: OwnBrowser;
let origin: string;

beforeAll(async () => {
  database = await createTestDatabase();
  await fillMirror(database.db, [{ ...largeTeam, users: 20, changes: 20, tags: 1, days: 1 }]);
  await fillMessages(database.db);
  const log = { warn: () => {}, info: () => {}, debug: () => {}, error: () => {} } as unknown as Setup['log'];
  const page = createPage({
    db: database.db,
    configs: () => [
      configSchema.parse({
        write: { schedule: true, timezone: 'Europe/Zurich' },
        status: { token, user: 'kim', details: true, decide: true },
      }),
    ],
    version: '0',
    decide: { mirror: { db: database.db } as Setup['mirror'], log },
  });
  server = await createPageServer({ host: '127.0.0.1', port: 0, page: pageRoutes(page) });
  origin = `http://127.0.0.1:${server.port}`;
  own = await launchBrowser();
});
afterAll(async () => {
  await own.close();
  await server.close();
  await database.close();
});

const nameOf = (name: string) => (look: Look) =>
  `${name}-${looks[look].viewport.width}-${looks[look].colorScheme}`;

it('one is approved without a script, and no look of any page has a fault', async () => {
  const { page, context, trouble } = await openPage(own, origin, 'light', {
    httpCredentials,
    javaScriptEnabled: false,
  });
  await page.goto(`${origin}/waiting`);
  await page.locator('nav.tabs a', { hasText: 'Messages' }).click();
  const card = page.locator(`#m-${keyOf(2)}`);
  await expect.poll(() => page.locator('h1').textContent()).toContain('3 wait for an approval');
  await expect.poll(() => page.locator('img[src="x"]').count()).toBe(0);
  await card.locator('button', { hasText: 'Approve for 214' }).click();
  await page.locator('textarea').fill('looked at it');
  await page.locator('main button', { hasText: 'Approve for 214' }).click();
  await expect.poll(() => page.locator('#receipt').textContent()).toContain('1 approved by you');
  await context.close();

  const seen = await openPage(own, origin, 'light', { httpCredentials });
  await seen.page.goto(`${origin}/messages`);
  expect(await faultsIn(seen.page, allLooks, nameOf('messages'))).toEqual([]);
  await seen.page.locator('button', { hasText: 'It is there' }).click();
  expect(await faultsIn(seen.page, ['light', 'narrow', 'dark'], nameOf('message-question'))).toEqual([]);
  expect([...trouble, ...seen.trouble]).toEqual([]);
  await seen.context.close();
  const { rows } = await runSqlText(
    database.db,
    `select decided_by, decided_why from sync.changes where local_id = '${keyOf(2)}' and kind = 'approve'`,
  );
  expect(rows).toEqual([['kim', 'looked at it']]);
});
