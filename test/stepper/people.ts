/**
 * Editors and approvers, each in a session of their own, in transactions of several statements, at all isolation levels. What
 * a transaction did counts once it is committed, and is kept for the invariants.
 */
import type { Random } from '../../src/emulator/random.ts';
import { canonicalOf, columns, keyOf, type People, type Standing } from '../simulation/people.ts';
import { message, messagesIn, rowsIn } from '../simulation/wire.ts';
import { createProcess, type Process, type World } from '../simulation/world.ts';
import type { Gate, Session } from './gate.ts';

type Rows = readonly (readonly (string | null)[])[];
type Ask = (sql: string) => Promise<Rows>;

/** What a person decided about an edit, over the value that they had seen. */
export interface Approval {
  readonly by: string;
  readonly value: string;
}

interface Person {
  readonly process: Process;
  session: Session | undefined;
  isBusy: boolean;
  /** What counts if the transaction is committed. */
  pending: (() => void)[];
  before: ReadonlyMap<string, Standing>;
}

export interface Staff {
  /** By the number of the edit. */
  readonly approved: ReadonlyMap<string, Approval>;
  /** Somebody who does nothing begins a transaction; an edit in it is rather of this user. */
  act(user?: number): void;
  /** How many transactions they still make. */
  left: number;
  readonly isAtWork: boolean;
  /** Somebody who edits nothing approves whatever waits. */
  approveAll(): Promise<void>;
}

const isolations = ['read committed', 'read committed', 'repeatable read', 'serializable'];
const quoted = (text: string | null | undefined) =>
  text === null || text === undefined ? 'null' : `'${text.replaceAll("'", "''")}'`;

/** @param known what is kept of what they do */
export function createStaff(world: World, gate: Gate, known: People, users: readonly number[]): Staff {
  const random: Random = world.random('staff');
  const approved = new Map<string, Approval>();
  let number = 0;
  const create = (name: string): Person => ({
    process: createProcess(name),
    session: undefined,
    isBusy: false,
    pending: [],
    before: new Map(),
  });
  const editors = [create('anna'), create('bob')];
  // Anna edits and decides.
  const deciders = [create('carol'), ...editors.slice(0, 1)];
  const [carol] = deciders;
  const everybody = new Set([...editors, ...deciders]);

  const personOf = (by: Process) => [...everybody].find(({ process }) => process === by);
  gate.beforeCommit.push((by) => {
    const person = personOf(by);
    if (person !== undefined) person.before = known.stateNow();
  });
  gate.onCommit.push((by) => {
    const person = personOf(by);
    if (person === undefined) return;
    for (const note of person.pending) note();
    known.noteEdits(by.name, person.before, known.stateNow());
  });

  function askIn(session: Session): Ask {
    return (sql) =>
      new Promise((resolve, reject) => {
        session.onAnswer = (bytes) => {
          try {
            resolve(rowsIn(messagesIn(bytes)));
          } catch (error) {
            reject(error as Error);
          }
        };
        session.onEnd = () => reject(new Error('the connection broke'));
        gate.send(session, message('Q', sql));
      });
  }

  async function transact(
    person: Person,
    isolation: string,
    work: (ask: Ask) => Promise<'commit' | 'rollback'>,
  ) {
    if (person.session === undefined || person.session.isOver) {
      person.session = gate.open(person.process);
      await askIn(person.session)(`set session authorization ${person.process.name}`);
    }
    const { session } = person;
    const ask = askIn(session);
    person.pending = [];
    try {
      await ask(`begin isolation level ${isolation}`);
      await ask(await work(ask));
    } catch {
      // The trace has the server's words.
      if (!session.isOver) await ask('rollback');
    }
  }

  /** A statement that gives a field of a user another value, or back the one that both sides agreed on. */
  function editOf(user: number, isAimed: boolean): string {
    number += 1;
    // What is aimed at is a field that was edited already, and may be under way.
    const waiting = isAimed
      ? [...known.stateNow(user)].filter(([, { isBase }]) => !isBase).map(([key]) => key.split(' ')[1])
      : [];
    const column = random.pick([
      ...columns,
      ...columns.filter((of) => waiting.includes(of)).flatMap((of) => [of, of, of, of]),
    ]);
    if (random.between(0, 4) === 0) {
      const own = { name: 'first_name, last_name', email: 'email', phone: 'phone', role_id: 'role_id' }[
        column
      ];
      const [base] = gate.ask(`select ${own} from sync.user_base where id = ${user}`);
      const parts = own.split(', ').map((name, at) => `${name} = ${quoted(base?.[at])}`);
      return `update mirror.users set ${parts.join(', ')} where id = ${user}`;
    }
    const first = random.pick(['Anne', 'José', 'Bo']);
    const set = {
      name: random.pick([
        `first_name = '${first}', last_name = 'Berg ${number}', name_split = 'known'`,
        `first_name = '${first}'`,
      ]),
      email: `email = 'u${number}@example.com'`,
      phone: `phone = ${random.between(0, 5) === 0 ? 'null' : `'1555${1_000_000 + number}'`}`,
      role_id: `role_id = ${random.pick([2, 3])}`,
    }[column];
    return `update mirror.users set ${set} where id = ${user}`;
  }

  const edit = (person: Person, aim: number | undefined) =>
    transact(person, random.pick(isolations), async (ask) => {
      for (let left = random.between(1, 3); left > 0; left -= 1) {
        const user = aim !== undefined && random.between(0, 2) > 0 ? aim : random.pick(users);
        const how = random.between(0, 7);
        if (how === 0) await ask(`select 1 from mirror.users where id = ${random.pick(users)} for update`);
        if (how === 1) await ask('savepoint before');
        await ask(editOf(user, user === aim));
        if (how === 1) await ask(`${random.pick(['rollback to', 'release'])} before`);
      }
      return random.between(0, 6) === 0 ? 'rollback' : 'commit';
    });

  async function look(ask: Ask): Promise<Rows> {
    return await ask(
      'select user_id, field, batch, mirror_text, edit_id from report.held where batch is not null and user_id is not null order by 1, 2',
    );
  }

  async function decide(person: Person) {
    let seen: Rows | undefined;
    if (random.between(0, 1) === 0)
      await transact(person, 'read committed', async (ask) => {
        seen = await look(ask);
        return 'commit';
      });
    await transact(person, random.pick(isolations), async (ask) => {
      if (random.between(0, 5) === 0) return await takeBack(person, ask);
      const shown = seen ?? (await look(ask));
      if (shown.length === 0) return 'rollback';
      const batch = random.pick(shown)[2];
      const some = shown.filter((row) => row[2] === batch && random.between(0, 2) > 0).map((row) => row[4]);
      const only = random.between(0, 1) === 0 && some.length > 0 ? `, only_edits => '{${some.join()}}'` : '';
      const call = random.between(0, 2) > 0 ? 'approve' : 'reject';
      const revert = call === 'reject' ? `, revert => ${random.between(0, 1) === 0}` : '';
      await settle(person, ask, shown, `sync.${call}('${batch}', reason => 'looked at'${only}${revert})`);
      return random.between(0, 6) === 0 ? 'rollback' : 'commit';
    });
  }

  /** Rejects what was approved and is not sent yet. */
  async function takeBack(person: Person, ask: Ask): Promise<'commit' | 'rollback'> {
    const shown = await ask(
      "select user_id, field, batch, mirror_value #>> '{}', edit_id from sync.held_fields where decision = 'approved' and batch is not null order by 1, 2",
    );
    if (shown.length === 0) return 'rollback';
    const batch = random.pick(shown)[2];
    await settle(person, ask, shown, `sync.reject('${batch}', reason => 'a mistake')`);
    return 'commit';
  }

  /** Calls one of the functions that decide; what they answer counts from the COMMIT on. */
  async function settle(person: Person, ask: Ask, shown: Rows, call: string) {
    const rows = await ask(`select user_id, field, outcome from ${call}`);
    person.pending.push(() => note(person.process.name, rows, shown));
  }

  async function approveAll() {
    if (carol === undefined) return;
    await transact(carol, 'read committed', async (ask) => {
      const shown = await look(ask);
      for (const batch of new Set(shown.map((row) => row[2])))
        await settle(carol, ask, shown, `sync.approve('${batch}', reason => 'the rest')`);
      return 'commit';
    });
  }

  /** What was decided about which edit, of those that were shown. */
  function note(by: string, rows: Rows, shown: Rows) {
    for (const [user, field, outcome] of rows) {
      const key = keyOf(Number(user), field ?? '');
      world.trace(`    ${by}: ${field} of ${user} is ${outcome}`);
      const row = shown.find(([id, of]) => id === user && of === field);
      const value = canonicalOf(field ?? '', row?.[3] ?? null);
      if (outcome === 'approved' && row !== undefined) {
        known.approve(key, { by, value });
        approved.set(row[4] ?? '', { by, value });
      }
      if (outcome === 'rejected') known.decidedMs.set(key, world.now());
      if (outcome === 'rejected') approved.delete(row?.[4] ?? '');
    }
  }

  const made: Staff = {
    approved,
    left: 0,
    get isAtWork() {
      return [...everybody].some(({ isBusy }) => isBusy);
    },
    approveAll,
    act: (user) => {
      if (made.left === 0) return;
      const waits = gate.ask(
        'select from sync.held_fields where batch is not null and decision is null limit 1',
      );
      const isDecision = random.between(0, 4) < (waits.length > 0 ? 3 : 1);
      const person = random.pick(isDecision ? deciders : editors);
      if (person.isBusy) return;
      made.left -= 1;
      person.isBusy = true;
      world
        .as(person.process, () => (isDecision ? decide(person) : edit(person, user)))
        .catch((error: unknown) => world.trace(`${person.process.name} gives up: ${String(error)}`))
        .finally(() => {
          person.isBusy = false;
        })
        .catch(() => {});
    },
  };
  return made;
}
