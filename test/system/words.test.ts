/** The 58 edits of the demo that a guard stops have one state and one reason, wherever they are read. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/postgres-process.ts';
import { type DaemonHere, startDaemon } from './daemon-here.ts';
import { runMusterd } from './run-musterd.ts';
import { createStage, type Stage } from './stage.ts';

interface Counted {
  readonly state: string;
  readonly reason: string;
}

/** `held limit 58` */
const counted = (rows: readonly Counted[]) => {
  const words = Map.groupBy(rows, ({ state, reason }) => `${state} ${reason}`);
  return [...words].map(([word, of]) => `${word} ${of.length}`);
};

describe('58 edits that the guard stopped', () => {
  let stage: Stage;
  let daemon: DaemonHere;
  let origin: string;
  const musterd = async (...args: readonly string[]) => (await runMusterd(args, stage.env)).stdout;
  const json = async (...args: readonly string[]) =>
    JSON.parse(await musterd(...args, '--json')) as Readonly<Record<string, unknown>>;
  const ask = async (path: string) => await (await fetch(`${origin}${path}`)).text();

  beforeAll(async () => {
    stage = await createStage({ emulator: { seed: 1, users: 200 } });
    await stage.run();
    const [[last] = []] = await stage.sql('select id from mirror.users order by id desc offset 60 limit 1');
    await stage.sql(`update mirror.users set email = replace(email, '@', '@mail.') where id > ${last}`);
    await stage.run();
    const port = String(await freePort());
    daemon = startDaemon({ ...stage.env, MUSTERD__status__port: port });
    await eventually('the daemon has started', () => daemon.log().includes('daemon started'));
    origin = `http://127.0.0.1:${port}`;
  });
  afterAll(async () => {
    await daemon.stop();
    await stage.close();
  });

  const inSql = async (from: string) =>
    (
      await stage.sql(`select concat_ws(' ', state, reason, count(*)) from ${from} group by state, reason`)
    ).flat();

  const places: readonly (readonly [string, readonly string[], () => Promise<readonly string[]>])[] = [
    [
      'sync.settled()',
      ['waiting 1'],
      async () =>
        await inSql(`sync.settled('0', xid => (select max(xid::text::bigint)::text::xid8 from sync.edits))`),
    ],
    ['report.pending', ['held limit 57', 'waiting 1'], async () => await inSql('report.pending')],
    ['report.held', ['held limit 57'], async () => await inSql('report.held')],
    [
      'plan --json',
      ['held limit 58'],
      async () => counted((await json('plan'))['changes'] as readonly Counted[]),
    ],
    [
      'held --json',
      ['held limit 57'],
      async () => counted((await json('held'))['held'] as readonly Counted[]),
    ],
    [
      'status --json',
      ['held 57', 'held limit 57', 'waiting 1'],
      async () => {
        const { pending, held } = (await json('status')) as Readonly<
          Record<string, Readonly<Record<string, number>>>
        >;
        expect(held).toEqual({ limit: pending?.['held'] });
        return Object.entries({ ...pending, 'held limit': held?.['limit'] }).map((entry) => entry.join(' '));
      },
    ],
    [
      '/metrics',
      ['held limit 57'],
      async () =>
        [
          ...(await ask('/metrics')).matchAll(
            /^musterd_held_fields\{.*state="(\w+)",reason="(\w+)"\} ([1-9]\d*)$/gm,
          ),
        ].map(([, ...words]) => words.join(' ')),
    ],
  ];
  it.each(places)('appear in %s as held with the reason "limit"', async (_, _words, read) => {
    expect((await read()).filter((words) => words !== 'held 58')).toEqual(['held limit 58']);
  });

  it.each([
    ['plan', /held \(limit\): 58 /],
    ['status', /pending edits +58 need a decision\nheld fields +58 more than the limit\n/],
    ['held --all', /needs a decision\tlimit\t/],
  ])('appear in the output of musterd %s as 58 that need a decision', async (command, words) => {
    expect(await musterd(...command.split(' '))).toMatch(words);
  });

  it('appear on the web page as 58 that need a decision', async () => {
    const page = await ask('/waiting');
    for (const words of ['Needs a decision: 58<', '58 email addresses: more than the limit<'])
      expect(page).toContain(words);
  });

  describe('after one of them was edited again, before the next run', () => {
    beforeAll(async () => {
      await stage.sql(`insert into sync.leases select team, gen_random_uuid(), 'other', 1, 'other', now(), 'infinity' from sync.teams;
        update mirror.users set email = 'again@example.com' where id = (select min(user_id) from report.held)`);
    });

    it.each(places)('appear in %s as %j', async (_, words, read) => {
      expect((await read()).toSorted()).toEqual(words);
    });

    it('appear on the web page as 57 that need a decision, also after the edited one is reset', async () => {
      expect(await ask('/waiting')).toContain('Needs a decision: 57<');
      await stage.sql(`update mirror.users u set email = b.email from sync.user_base b
        where b.team_id = u.team_id and b.id = u.id and u.email = 'again@example.com'`);
      expect(await ask('/waiting')).toContain('Needs a decision: 57<');
    });
  });
});
