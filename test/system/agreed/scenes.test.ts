/** What one person did and one run held is one batch, which its own commands decide about: a scene in each row. */
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { runMusterd } from '../run-musterd.ts';
import { loginAt } from '../stage.ts';
import { buttonOf, createVisitor, servePageOf } from './page-forms.ts';
import { createTeams, type Person, type Team } from './people.ts';

const teams = createTeams();
afterAll(() => teams.close());

interface Scene {
  /** What happens before the run that holds it. */
  readonly does: (team: Team) => Promise<void>;
  /** What is held, by reason: the number of fields in each batch. */
  readonly held: readonly Readonly<Record<string, number>>[];
  /** The number of edits that are sent at once, held by nothing. */
  readonly sent?: number | 'some';
}

const all = (team: Team, values: string) => team.bob.sql(`update mirror.users set ${values}`).then(() => {});
const [one, two, three] = [0, 1, 2];
const idAt = (team: Team, at: number) => team.ids[at] ?? 0;

/** Decides about a batch on the page, as this person, if the page lets them. */
async function decideOnPage({ db, config }: Team, { role }: Person, words: string, batch: string) {
  const token = 'a token of the page for tests';
  const status = { ...config.status, details: true, people: { [role]: { token, may: 'decide' as const } } };
  // Only with four eyes an edit of one's own is taken back there.
  const push = { ...config.push, fourEyes: true };
  const page = await servePageOf(db, () => [{ ...config, status, push }]);
  try {
    const visitor = createVisitor(page.origin, token, role);
    const { forms } = await visitor.ask(`/waiting/${batch}`);
    const form = forms.find((one) => buttonOf(one, words) !== undefined);
    if (form === undefined) return;
    const asked = await visitor.press(form, words);
    const [question] = asked.forms.filter(({ asksWhy }) => asksWhy);
    if (question === undefined) throw new Error(`Nothing was asked: ${asked.text}`);
    expect((await visitor.press(question, words.replace(' all', ''))).location).toMatch(/done=\d+/);
  } finally {
    await page.close();
  }
}

const phones = (team: Team) => all(team, `phone = '155505' || id`);

const scenes: Readonly<Record<string, Scene>> = {
  'the same phone for all users': { does: (team) => all(team, `phone = '15550300'`), held: [{ limit: 180 }] },
  'no phone for all users': { does: (team) => all(team, 'phone = null'), held: [{ limit: 150 }] },
  'the same email for all users': {
    does: (team) => all(team, `email = 'all@example.com'`),
    held: [{ limit: 180 }],
  },
  'the same role for all users': { does: (team) => all(team, 'role_id = 17'), held: [{ limit: 169 }] },
  'the same first name for all users': {
    does: (team) => all(team, `first_name = 'Ada'`),
    held: [{ limit: 172, unsupported: 8 }],
  },
  'edits of two people before one run': {
    does: async (team) => {
      await team.bob.sql(`update mirror.users set phone = '1555030' || id where id % 2 = 0`);
      await team.mallory.sql(`update mirror.users set phone = '1555040' || id where id % 2 = 1`);
    },
    held: [{ limit: 90 }, { limit: 90 }],
  },
  '200 transactions of one person, each of one row': {
    does: async (team) => {
      const ids = (await team.sql('select id from mirror.users order by id')).flat();
      for (let at = 0; at < 200; at += 1)
        await team.bob.edit(Number(ids[at % ids.length]), `phone = '155502${String(at).padStart(4, '0')}'`);
    },
    held: [{ limit: 180 }],
  },
  'a batch with one field that is edited again before the decision': {
    does: async (team) => {
      await phones(team);
      await team.run();
      await team.bob.edit(idAt(team, two), `phone = '15550999'`);
    },
    held: [{ limit: 179 }, { limit: 1 }],
  },
  'a conflict, a duplicate email and 50 edits in one transaction': {
    does: async (team) => {
      team.emulator.team.editUser(idAt(team, one), { phone: '15550999' });
      const others = team.ids.slice(0, 50).join(', ');
      await team.bob.sql(`begin;
        update mirror.users set phone = '155504' || id where id in (${others});
        update mirror.users set email = (select email from mirror.users where id = ${idAt(team, three)}) where id = ${idAt(team, 3)};
        commit`);
    },
    held: [{ conflict: 1, limit: 50 }],
  },
  'one refused value and 10 valid edits in one transaction': {
    does: async (team) => {
      await team.bob.sql(`update mirror.users set phone = case id when ${idAt(team, two)} then '99' else '155504' || id end
        where id in (${team.ids.slice(0, 11).join(', ')})`);
    },
    held: [{ refused: 1 }],
    sent: 'some',
  },
};

const onPage = {
  approve: 'Approve',
  reject: 'Reject',
  'reject revert': 'Reject and put back',
  withdraw: 'Withdraw all',
} as const;
type Verb = keyof typeof onPage;
const ways = ['SQL', 'the command line', 'the page'] as const;

/** What a decision does to a batch depends on what the batch has: this one has all of it. */
const decidedOtherwise = 'a conflict, a duplicate email and 50 edits in one transaction';

describe.each(Object.entries(scenes))('batches of held edits: %s', (name, scene) => {
  let team: Team;
  afterEach(() => team.close());

  const held = async () =>
    (
      await team.sql(`select b.batch, json_object_agg(b.reason, b.count order by b.reason) from (
          select batch, reason, edited_by, count(*) from report.held where state = 'held' group by 1, 2, 3) b
        group by b.batch, b.edited_by order by sum(b.count) desc, 1`)
    ).map(([batch = '', reasons = '{}']) => ({
      batch,
      reasons: JSON.parse(reasons) as Scene['held'][number],
    }));
  const open = async () => {
    team = await teams.open({
      emulator: { users: 180 },
      push: { approve: 'guarded', fourEyes: false },
    });
    await scene.does(team);
    await team.run();
    const found = await held();
    expect(found.map(({ reasons }) => reasons)).toEqual(scene.held);
    // Every held edit is in a batch, and a batch has one author.
    expect(new Set(found.map(({ batch }) => /^[0-9a-f]{12}$/.test(batch)))).toEqual(new Set([true]));
    expect(new Set(found.map(({ batch }) => batch)).size).toBe(scene.held.length);
    if (scene.sent !== 'some') expect(team.updates()).toHaveLength(scene.sent ?? 0);
    team.emulator.clearRequests();
    return found.map(({ batch }) => batch);
  };
  const edits = () =>
    team
      .sql(`select count(*) from report.pending where state not in ('rejected', 'sending')`)
      .then(([row]) => row?.[0]);
  const fronts = {
    SQL: async (who, verb, batch) => {
      const [name, revert] = verb.split(' ');
      await who.sql(
        `select state from sync.${name}('${batch}', reason => 'so'${revert ? ', revert => true' : ''})`,
      );
    },
    'the command line': async ({ role }, verb, batch) => {
      const [name = '', revert] = verb.split(' ');
      const args = [name, batch, '--reason', 'so', ...(revert ? ['--revert'] : [])];
      const env = { ...team.environment(), DATABASE_URL: loginAt(team.url, role), MUSTERD_ACTOR: '' };
      const { code, stderr } = await runMusterd(args, env);
      expect([[0, 3], stderr]).toEqual([expect.arrayContaining([code]), '']);
    },
    'the page': (who, verb, batch) => decideOnPage(team, who, onPage[verb], batch),
  } as const satisfies Record<string, (who: Person, verb: Verb, batch: string) => Promise<void>>;
  const decide = async (front: keyof typeof fronts, verb: Verb) => {
    for (const batch of await open()) {
      const [[author] = []] = await team.sql(`select edited_by from report.held where batch = '${batch}'`);
      const editors = [team.bob, team.mallory].filter(({ role }) => role === author);
      for (const who of verb === 'withdraw' ? editors : [team.carol]) await fronts[front](who, verb, batch);
    }
  };
  const count = (reason: string) => scene.held.reduce((sum, batch) => sum + (batch[reason] ?? 0), 0);

  /** Command line and page call the functions of SQL: they need not do so of each. */
  const isDecidedOtherwise = name === decidedOtherwise;
  it.each(isDecidedOtherwise ? ways : (['SQL'] as const))(
    'an approval through %s lets musterd send edits held by a limit, but no edits held for other reasons',
    async (front) => {
      await decide(front, 'approve');
      await team.run();
      const fields = team
        .updates()
        .reduce(
          (sum, { id: _id, ...values }) =>
            sum + ('first_name' in values ? Object.keys(values).length - 1 : Object.keys(values).length),
          0,
        );
      expect(fields).toBeGreaterThanOrEqual(count('limit'));
      const left = scene.held.map(({ limit: _limit, ...others }) => others);
      expect((await held()).map(({ reasons }) => reasons)).toEqual(
        left.filter((reasons) => Object.keys(reasons).length > 0),
      );
    },
  );

  if (!isDecidedOtherwise) return;

  it.each(
    (['reject', 'reject revert', 'withdraw'] as const).flatMap((verb) =>
      ways.map((front) => [verb, front] as const),
    ),
  )('a run sends no edit and holds none after the decision "%s" through %s', async (verb, front) => {
    await decide(front, verb);
    const fields = scene.held.flatMap((reasons) => Object.values(reasons)).reduce((sum, of) => sum + of, 0);
    const rejected = await team.sql(`select count(*) from report.held where state = 'rejected'`);
    expect(rejected).toEqual([[verb === 'reject' ? String(fields) : '0']]);
    await team.run();
    expect([team.updates(), await held(), await edits()]).toEqual([[], [], '0']);
  });
});

describe('one transaction that gives the email of a user to another user', () => {
  let team: Team;
  const guarded = { approve: 'guarded', fourEyes: false } as const;
  const open = async () => {
    team = await teams.open({ push: guarded });
    return team.ids;
  };
  afterEach(() => team.close());
  const emails = (values: Readonly<Record<number, string>>) =>
    team.bob.sql(
      `update mirror.users set email = case id ${Object.entries(values)
        .map(([id, email]) => `when ${id} then '${email}'`)
        .join(' ')} end where id in (${Object.keys(values).join(', ')})`,
    );
  const emailOf = (id: number) => team.people().find((user) => user.id === id)?.email ?? '';

  it.each([
    ['lower', 0, 1],
    ['higher', 1, 0],
  ])(
    'musterd sends the new email of the user with the %s id, then sends the old email for the other user',
    async (_, giver, taker) => {
      const [first = 0, second = 0] = (await open()).toSorted((a, b) => a - b);
      const [from, to] = [[first, second][giver] ?? 0, [first, second][taker] ?? 0];
      const handed = emailOf(from);
      await emails({ [from]: 'new@example.com', [to]: handed });
      expect(await team.run()).toMatchObject({ outcome: 'complete' });
      expect([team.updates(), await team.held()]).toEqual([[{ id: from, email: 'new@example.com' }], []]);
      await team.run();
      expect(team.updates().at(-1)).toEqual({ id: to, email: handed });
      expect([emailOf(from), emailOf(to), await team.held()]).toEqual(['new@example.com', handed, []]);
    },
  );

  it('musterd sends the approved new email of one user before it sends the old email for the other user', async () => {
    team = await teams.open({ push: { approve: 'always', fourEyes: false } });
    const [taker = 0, giver = 0] = team.ids;
    const handed = emailOf(giver);
    await emails({ [taker]: handed, [giver]: 'new@example.com' });
    await team.run();
    await team.carol.approve(await team.batchOf(taker));
    await team.run();
    expect(team.updates()).toEqual([{ id: giver, email: 'new@example.com' }]);
    await team.run();
    expect([team.updates().at(-1), await team.held()]).toEqual([{ id: taker, email: handed }, []]);
  });

  it('musterd holds the phone of a user together with the email, and sends both fields after one approval', async () => {
    const [first = 0, second = 0] = await open();
    await team.bob.sql(
      `update mirror.users set email = '${emailOf(second)}', phone = '15550997' where id = ${first}; update mirror.users set phone = '15550998' where id = ${second}`,
    );
    await team.run();
    expect(team.updates()).toEqual([{ id: second, phone: '15550998' }]);
    const details = await team.sql(`select field, detail, batch from report.held order by 1`);
    const words = `user ${second} has or will get the same email`;
    const batch = await team.batchOf(first);
    expect(details).toEqual([
      ['email', words, batch],
      ['phone', `edited together with email: ${words}`, batch],
    ]);
    await team.carol.approve(batch);
    await team.run();
    expect(team.updates().at(-1)).toEqual({ id: first, email: emailOf(second), phone: '15550997' });
  });
});
