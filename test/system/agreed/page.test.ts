import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { noRun } from '../../support/no-run.ts';
import { freePort } from '../../support/postgres-process.ts';
import { type Running, startMusterd } from '../run-musterd.ts';
import { createVisitor } from './page-forms.ts';
import { createTeams, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

const token = 'a token of the page for tests';

let team: Team;
let daemon: Running;
let dora: ReturnType<typeof createVisitor>;
let free: number[];

/** A daemon with a page, and dora, who decides there. */
async function open(): Promise<void> {
  team = await teams.open({});
  free = [...team.ids];
  const port = await freePort();
  daemon = startMusterd(['daemon'], {
    ...team.environment(),
    MUSTERD__schedule__users: '0 0 1 1 *',
    MUSTERD__status__port: String(port),
    MUSTERD__status__details: 'true',
    MUSTERD__status__people: JSON.stringify({ dora: { token, may: 'decide' } }),
  });
  const origin = `http://127.0.0.1:${port}`;
  dora = createVisitor(origin, token, 'dora');
  await eventually('the page is there', async () => {
    const answer = await fetch(`${origin}/freshness`).catch(() => undefined);
    return answer?.status === 200;
  });
}

async function close(): Promise<void> {
  daemon.process.kill();
  await daemon.ended;
  await team.close();
}

function nextUser(): number {
  const id = free.shift();
  if (id === undefined) throw new Error('all users have had their turn');
  return id;
}
const heldAs = async (id: number, column: string, value: string) => {
  await eventually(`${column} of what is held is ${value}`, async () => {
    const rows = await team.sql(
      `select from report.held where user_id = ${id} and ${column} #>> array[]::text[] = '${value}'`,
    );
    return rows.length > 0;
  });
  await noRun(team.db);
};
/** A whole run that has looked at everything. */
const run = () => eventually('a run', async () => (await team.musterd('reconcile')).code !== 75);
const sentTo = (id: number) => team.updates().filter((update) => update['id'] === id);

/** A batch with two fields of one user, and one of another. */
const openBatch = async () => {
  const [a, b] = [nextUser(), nextUser()];
  await team.bob.sql(`update mirror.users set email = 'new' || id || '@example.com',
    role_id = case id when ${a} then 17 else role_id end where id in (${a}, ${b})`);
  const batch = await eventually('the edits are held', async () => (await team.batchOf(b)) || undefined);
  await noRun(team.db);
  const { forms } = await dora.ask(`/waiting/${batch}`);
  return { a, b, forms };
};

describe('a page on which people decide', () => {
  beforeAll(open);
  afterAll(close);

  it.each(['Approve', 'Reject'])('decides about what was ticked alone: %s', async (verb) => {
    const { a, b, forms } = await openBatch();
    const [form] = forms.filter(({ buttons }) => buttons.some(({ words }) => words.startsWith(verb)));
    if (form === undefined) throw new Error('no form');
    const isMeant = (row: string) => row.includes(`new${a}@example.com`);
    const asked = await dora.press(form, verb, isMeant);
    const [question] = asked.forms.filter(({ asksWhy }) => asksWhy);
    if (question !== undefined) await dora.press(question, verb);
    await run();
    const isApproved = verb === 'Approve';
    expect(
      await team.sql(`select user_id, field, case state when 'rejected' then state else reason end from report.held
      where user_id in (${a}, ${b}) order by user_id, field`),
    ).toEqual([
      ...(isApproved ? [] : [[String(a), 'email', 'rejected']]),
      [String(a), 'role_id', 'review'],
      [String(b), 'email', 'review'],
    ]);
    expect(sentTo(a)).toEqual(isApproved ? [{ id: a, email: `new${a}@example.com` }] : []);
  });

  describe.each([
    ['Take the mirror’s', 'mirror'],
    ['Take the mirror’s', 'service'],
    ['Take the service’s', 'mirror'],
    ['Take the service’s', 'service'],
  ])('%s', (words, side) => {
    it.each(['it is asked once more', 'it is confirmed'])(
      `does nothing if the ${side} has another value when %s`,
      async (when) => {
        const id = nextUser();
        team.emulator.team.editUser(id, { email: `service${id}@example.com` });
        await team.bob.edit(id, `email = 'mirror${id}@example.com'`);
        await heldAs(id, 'mirror_value_then', `mirror${id}@example.com`);
        const move = async () => {
          if (side === 'mirror') await team.bob.edit(id, `email = 'later${id}@example.com'`);
          else team.emulator.team.editUser(id, { email: `later${id}@example.com` });
          await run();
          await heldAs(id, `${side}_value`, `later${id}@example.com`);
        };
        const isMeant = (row: string) => row.includes(`mirror${id}@example.com`);
        const { forms } = await dora.ask('/waiting?state=conflict');
        const [form] = forms.filter(({ ticks }) => ticks.some(({ row }) => isMeant(row)));
        if (form === undefined) throw new Error('no form');
        if (when === 'it is asked once more') await move();
        let answer = await dora.press(form, words, isMeant);
        const [question] = answer.forms.filter(({ asksWhy }) => asksWhy);
        if (when === 'it is confirmed') await move();
        if (question !== undefined) answer = await dora.press(question, words);
        await run();
        expect(sentTo(id)).toEqual([]);
        expect(await team.sql(`select email from mirror.users where id = ${id}`)).toEqual([
          [side === 'mirror' ? `later${id}@example.com` : `mirror${id}@example.com`],
        ]);
        expect(answer.text).toContain(`later${id}@example.com`);
      },
    );
  });
});
