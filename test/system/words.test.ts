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

  it.each<readonly [string, () => Promise<readonly string[]>]>([
    [
      'sync.settled()',
      async () =>
        await inSql(`sync.settled('0', xid => (select max(xid::text::bigint)::text::xid8 from sync.edits))`),
    ],
    ['report.pending', async () => await inSql('report.pending')],
    ['report.held', async () => await inSql('report.held')],
    ['plan --json', async () => counted((await json('plan'))['changes'] as readonly Counted[])],
    ['held --json', async () => counted((await json('held'))['held'] as readonly Counted[])],
    [
      'status --json',
      async () => {
        const { pending, held } = (await json('status')) as Readonly<
          Record<string, Readonly<Record<string, number>>>
        >;
        expect(Object.values(held ?? {})).toEqual(Object.values(pending ?? {}));
        return [[...Object.keys(pending ?? {}), ...Object.entries(held ?? {}).flat()].join(' ')];
      },
    ],
    [
      '/metrics',
      async () =>
        [
          ...(await ask('/metrics')).matchAll(
            /^musterd_held_fields\{.*state="(\w+)",reason="(\w+)"\} ([1-9]\d*)$/gm,
          ),
        ].map(([, ...words]) => words.join(' ')),
    ],
  ])('show as held with the reason "limit" in %s', async (_, read) => {
    expect(await read()).toEqual(['held limit 58']);
  });

  it.each([
    ['plan', /held \(limit\): 58 /],
    ['status', /pending edits +58 need a decision\nheld fields +58 more than the limit\n/],
    ['held --all', /needs a decision\tlimit\t/],
  ])('show as 58 that need a decision in the output of musterd %s', async (command, words) => {
    expect(await musterd(...command.split(' '))).toMatch(words);
  });

  it('show as 58 that need a decision on the web page', async () => {
    const page = await ask('/waiting');
    for (const words of ['Needs a decision: 58<', '58 email addresses: more than the limit<'])
      expect(page).toContain(words);
  });
});
