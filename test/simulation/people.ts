/** Those who edit in SQL and on the service, and those who decide. What they did is kept, for the invariants. */
import type { Random } from '../../src/emulator/random.ts';
import type { UserChange } from '../../src/emulator/rules/update-user.ts';
import type { Plan } from './plan.ts';
import type { Postgres } from './postgres.ts';
import type { Service } from './service.ts';
import type { World } from './world.ts';

export type Column = 'name' | 'email' | 'phone' | 'role_id';

/** One edit in SQL that was committed. */
export interface Edit {
  readonly atMs: number;
  readonly user: number;
  readonly column: Column;
  readonly by: string;
  /** In canonical form. */
  readonly value: string;
  /** It set the field back to what both sides agreed on: there is no edit any more. */
  readonly isWithdrawn: boolean;
}

export interface Approval {
  readonly atMs: number;
  readonly value: string;
  readonly by: string;
}

/** What the mirror has of a field. */
export interface Standing {
  readonly bytes: string;
  readonly text: string | null;
  /** It is what both sides agreed on. */
  readonly isBase: boolean;
}

export interface People {
  /** By user and column: all, the last one last. */
  readonly edits: ReadonlyMap<string, readonly Edit[]>;
  /** Approvals that stand for the edit that there is now. */
  readonly approvals: ReadonlyMap<string, Approval>;
  /** The last approvals that an edit has ended, and when. */
  readonly replaced: ReadonlyMap<string, Approval>;
  /** When a person decided anything about this field. */
  readonly decidedMs: Map<string, number>;
  /**
   * What was let pass, until that was taken back: the value is not sent any more, unless the service has moved from what it
   * showed then, which ends most holds.
   */
  readonly takenBack: ReadonlyMap<string, { readonly value: string; readonly over: string }>;
  /** Users whose row was deleted past the triggers. */
  readonly lostRows: ReadonlySet<number>;
  /** Users of whom somebody confirmed that they have left. */
  readonly letGo: ReadonlySet<number>;
  /** By user and column, as it is now; of one user or of all. */
  stateNow(user?: number): ReadonlyMap<string, Standing>;
  /** Somebody has made these of those. @returns what is other than before, by user and column */
  noteEdits(
    by: string,
    before: ReadonlyMap<string, Standing>,
    after: ReadonlyMap<string, Standing>,
  ): readonly string[];
  approve(key: string, approval: Omit<Approval, 'atMs'>): void;
  /** It is approved no longer, and not sent before somebody approves it again. */
  undecide(key: string): void;
  /** Somebody who is there and answered, and of whom nothing is held. */
  anybody(): number | undefined;
  /** One edit of the email. @returns its key; `undefined`: it was refused */
  editEmail(user: number): string | undefined;
  /** One of them does something, to this user or to any. */
  act(user?: number): void;
  /** In SQL, of this field. */
  edit(user: number, column: Column): void;
  /** Only on the service. */
  rival(user: number): void;
  decide(): void;
  /** Somebody confirms what waits for it, of users who have really left. */
  confirmDepartures(): void;
  /** A row is deleted past the triggers: it is made again of what both sides agreed on. */
  loseRow(): void;
}

export const keyOf = (user: number, column: string) => `${user} ${column}`;

export function canonicalOf(column: string, text: string | null): string {
  const value = text ?? '';
  if (column === 'email') return value.trim().toLowerCase();
  if (column === 'phone') return value.replace(/\D/g, '');
  return column === 'name' ? value.normalize('NFC').split(/\s+/u).filter(Boolean).join(' ') : value;
}

const firstNames = ['Anne', 'Anne Marie', 'José', 'Cher', 'Bo', 'Ida'];
const lastNames = ['Berg', 'Marie Berg', 'Lund', '', 'van Dam'];

/** As people sort fields: the columns of a name are one. */
export const columns: readonly Column[] = ['name', 'email', 'phone', 'role_id'];
/** What they edit most. */
const edited: readonly Column[] = [...columns, 'email', 'name'];

const quoted = (text: string | null) => (text === null ? 'null' : `'${text.replaceAll("'", "''")}'`);

export const editors = ['anna', 'bob'];
export const deciders = ['carol', 'anna'];

export function createPeople(world: World, postgres: Postgres, service: Service, plan: Plan): People {
  const random: Random = world.random('people');
  const edits = new Map<string, Edit[]>();
  const approvals = new Map<string, Approval>();
  const replaced = new Map<string, Approval>();
  const decidedMs = new Map<string, number>();
  const takenBack = new Map<string, { readonly value: string; readonly over: string }>();
  const lostRows = new Set<number>();
  const letGo = new Set<number>();
  const own = `team_id = ${service.team.id}`;
  let number = 0;

  /** In one transaction of this role; `undefined`: it was refused. */
  function inSql(by: string, statement: string): readonly (readonly (string | null)[])[] | undefined {
    try {
      return postgres.ask(
        `begin; set local session authorization ${by}; ${statement}; commit; set session authorization postgres`,
      );
    } catch (error) {
      postgres.ask('rollback; set session authorization postgres');
      world.trace(`${by} is refused: ${(error as Error).message.slice(0, 160)}`);
      return undefined;
    }
  }

  function drawValue(column: Column): { readonly set: string; readonly text: string | null } {
    number += 1;
    if (column === 'email') {
      const text =
        random.between(0, 5) === 0 ? `U${random.between(1, 3)}@Example.com` : `u${number}@example.com`;
      return { set: `email = ${quoted(text)}`, text };
    }
    if (column === 'phone') {
      const text = random.between(0, 6) === 0 ? null : `+1555${String(1_000_000 + number)}`;
      return { set: `phone = ${quoted(text)}`, text };
    }
    if (column === 'role_id') {
      const text = String(random.pick([...service.team.roles.keys()]));
      return { set: `role_id = ${text}`, text };
    }
    const [first, last] = [random.pick(firstNames), random.pick(lastNames)];
    const how = random.between(0, 3);
    if (how === 0) return { set: `first_name = ${quoted(first)}`, text: null };
    if (how === 1) return { set: `last_name = ${quoted(last)}`, text: null };
    const known = how === 2 ? ", name_split = 'known'" : '';
    return {
      set: `first_name = ${quoted(first)}, last_name = ${quoted(last)}${known}`,
      text: `${first} ${last}`,
    };
  }

  function editInSql(user?: number, column = random.pick(edited)) {
    const by = random.pick(editors);
    const isMass = user === undefined && random.between(0, 14) === 0;
    const isBack = random.between(0, 5) === 0;
    const { set: first } = drawValue(column);
    const other = random.pick(edited);
    const set = other === column || random.between(0, 3) > 0 ? first : `${first}, ${drawValue(other).set}`;
    const id = user ?? random.pick([...service.history.keys()]);
    postgres.atRest(() => {
      const where = `${own} and ${isMass ? 'gone_at is null' : `id = ${id}`}`;
      const back = {
        name: 'first_name = b.first_name, last_name = b.last_name',
        email: 'email = b.email',
        phone: 'phone = b.phone',
        role_id: 'role_id = b.role_id',
      }[column];
      const mass = column === 'email' ? `email = 'm' || id || '-${number}@example.com'` : set;
      const statement = isBack
        ? `set session authorization postgres; create temp table b on commit drop as select * from sync.user_base where ${own} and id = ${id}; grant select on b to ${by}; set local session authorization ${by}; update mirror.users u set ${back} from b where u.team_id = b.team_id and u.id = b.id`
        : `update mirror.users set ${isMass ? mass : set} where ${where}`;
      const of = isMass ? undefined : id;
      const before = stateNow(of);
      if (before.size > 0 && inSql(by, statement) !== undefined) noteEdits(by, before, stateNow(of));
    });
  }

  /** What was read last, of whom, and which transactions it has seen. */
  let known: { readonly of: string; readonly states: ReadonlyMap<string, Standing> } | undefined;

  /** As long as no transaction has come to its end that wrote anything, it is what it was. */
  function stateNow(user?: number): ReadonlyMap<string, Standing> {
    const [[snapshot] = []] = postgres.ask('select pg_current_snapshot()');
    const of = `${snapshot} ${user ?? 'all'}`;
    if (known?.of !== of) known = { of, states: readState(user) };
    return known.states;
  }

  function readState(user?: number): ReadonlyMap<string, Standing> {
    const values = (of: string) =>
      `${of}.first_name, ${of}.last_name, ${of}.email, ${of}.phone, ${of}.role_id`;
    const rows = postgres.ask(
      `select u.id, ${values('u')}, b.id, ${values('b')}
       from mirror.users u left join sync.user_base b on b.team_id = u.team_id and b.id = u.id
       where u.${own} ${user === undefined ? '' : `and u.id = ${user}`} order by 1`,
    );
    const pieces = (column: Column, row: readonly (string | null)[]) =>
      column === 'name' ? row.slice(0, 2) : [row[columns.indexOf(column) + 1] ?? null];
    return new Map(
      rows.flatMap(([id, ...values]) =>
        columns.map((column) => {
          const [mine, agreed] = [pieces(column, values), pieces(column, values.slice(6))];
          const [bytes, base] = [JSON.stringify(mine), JSON.stringify(agreed)];
          const text = mine.some((piece) => piece === null) ? null : mine.join(' ');
          return [
            keyOf(Number(id), column),
            { bytes, text, isBase: values[5] !== null && bytes === base },
          ] as const;
        }),
      ),
    );
  }

  const noteEdits: People['noteEdits'] = (by, before, after) => {
    const changed = [...after].filter(([key, { bytes }]) => before.get(key)?.bytes !== bytes);
    for (const [key, { text, isBase }] of changed) {
      const [user, column] = key.split(' ') as [string, Column];
      const value = canonicalOf(column, text);
      const edit = { atMs: world.now(), user: Number(user), column, by, value, isWithdrawn: isBase };
      edits.set(key, [...(edits.get(key) ?? []), edit]);
      const approval = approvals.get(key);
      if (approval !== undefined) replaced.set(key, { ...approval, atMs: world.now() });
      approvals.delete(key);
      takenBack.delete(key);
      world.trace(`${by} sets ${column} of ${user} to ${text}${isBase ? ', as it was' : ''}`);
    }
    return changed.map(([key]) => key);
  };

  function changeOnService(user?: number) {
    const id = user ?? random.pick([...service.team.users.keys()]);
    const column = random.pick(edited);
    number += 1;
    const change: UserChange =
      column === 'email'
        ? { email: random.between(0, 9) === 0 ? null : `s${number}@example.com` }
        : column === 'phone'
          ? { phone: random.between(0, 5) === 0 ? null : `1666${1_000_000 + number}` }
          : column === 'role_id'
            ? { roleId: random.pick([...service.team.roles.keys()]) }
            : { first: random.pick(firstNames), last: random.pick(lastNames) };
    service.change(id, change);
  }

  function comeAndGo() {
    const gone = [...service.history.keys()].filter((id) => !service.team.users.has(id));
    const back = gone.length > 0 && random.between(0, 1) === 0 ? random.pick(gone) : undefined;
    if (back !== undefined && service.comeBack(back)) return;
    if (service.team.users.size > 4) service.leave(random.pick([...service.team.users.keys()]));
  }

  const approve: People['approve'] = (key, approval) => {
    approvals.set(key, { atMs: world.now(), ...approval });
    takenBack.delete(key);
  };

  function decide() {
    const by = random.pick(deciders);
    postgres.atRest(() => {
      const held = postgres.ask(
        `select user_id, field, reason, batch, mirror_text, edit_id from report.held
         where ${own} and user_id is not null order by user_id, field`,
      );
      const missing = postgres.ask(`select batch from report.missing where ${own} and resource = 'users'`);
      const isYes = random.between(0, 2) > 0;
      const passing = postgres.ask(
        `select batch from sync.held_fields where ${own} and decision = 'approved' order by batch`,
      );
      const batches = [
        ...new Set([
          ...held.map((row) => row[3]),
          ...[...missing, ...(isYes ? [] : passing)].map(([batch]) => batch),
        ]),
      ].flatMap((batch) => batch ?? []);
      if (batches.length === 0) return;
      const batch = random.pick(batches);
      const revert = random.between(0, 1) === 0;
      const call = isYes
        ? `select user_id, field, outcome from sync.approve('${batch}', reason => 'looked at', team => ${service.team.id})`
        : `select user_id, field, outcome from sync.reject('${batch}', reason => 'no', revert => ${revert}, team => ${service.team.id})`;
      const rows = inSql(by, call);
      if (rows === undefined) return;
      for (const [user, field, outcome] of rows) {
        const key = keyOf(Number(user), field ?? '');
        const row = held.find(([id, of]) => id === user && of === field);
        world.trace(`${by} ${isYes ? 'approves' : 'rejects'} ${field} of ${user}: ${outcome}`);
        if (outcome === 'approved' && field === 'users') letGo.add(Number(user));
        if (outcome === 'approved' && row !== undefined)
          approve(key, { value: canonicalOf(field ?? '', row[4] ?? null), by });
        if (outcome === 'rejected') {
          undecide(key);
          decidedMs.set(key, world.now());
        }
      }
    });
  }

  function confirmDepartures() {
    postgres.atRest(() => {
      const missing = postgres.ask(`
        select batch, array_agg(id)::text from sync.absences
        where ${own} and resource = 'users' and batch is not null group by batch order by batch`);
      for (const [batch, ids] of missing) {
        const users = (ids ?? '').replaceAll(/[{}]/g, '').split(',').map(Number);
        if (users.some((id) => service.team.users.has(id))) continue;
        inSql('anna', `select sync.approve('${batch}', reason => 'they left', team => ${service.team.id})`);
        for (const id of users) letGo.add(id);
        world.trace(`anna confirms that ${users.join(', ')} have left`);
      }
    });
  }

  function loseRow() {
    postgres.atRest(() => {
      const [row] = postgres.ask(
        `select id from mirror.users where ${own} and gone_at is null order by id limit 1`,
      );
      if (row === undefined) return;
      const id = Number(row[0]);
      lostRows.add(id);
      world.trace(`somebody deletes the row of ${id} past the triggers`);
      postgres.ask(
        `begin; set local session_replication_role = replica; delete from mirror.users where ${own} and id = ${id}; commit`,
      );
      for (const column of columns) decidedMs.set(keyOf(id, column), world.now());
    });
  }

  function login() {
    const id = random.pick([...service.team.users.keys()]);
    service.change(id, {});
  }

  function undecide(key: string) {
    const approval = approvals.get(key);
    if (approval === undefined) return;
    approvals.delete(key);
    const [user, column = ''] = key.split(' ');
    const [[over = null] = []] = postgres.ask(
      `select service_value #>> '{}' from sync.held_fields where ${own} and user_id = ${user} and field = '${column}'`,
    );
    takenBack.set(key, { value: approval.value, over: canonicalOf(column, over) });
    world.trace(`what ${approval.by} approved of ${key} is taken back`);
  }

  function anybody(): number | undefined {
    const [row] = postgres.ask(
      `select id from mirror.users u where ${own} and gone_at is null and resolved
         and not exists (select from sync.held_fields h where h.${own} and h.user_id = u.id) order by id limit 1`,
    );
    return row === undefined ? undefined : Number(row[0]);
  }

  function editEmail(id: number): string | undefined {
    number += 1;
    const before = stateNow(id);
    const set = `update mirror.users set email = 'calm${number}@example.com' where ${own} and id = ${id}`;
    return inSql('anna', set) === undefined ? undefined : noteEdits('anna', before, stateNow(id))[0];
  }

  return {
    edits,
    approvals,
    replaced,
    decidedMs,
    takenBack,
    lostRows,
    letGo,
    stateNow,
    noteEdits,
    approve,
    undecide,
    anybody,
    editEmail,
    decide,
    confirmDepartures,
    loseRow,
    edit: editInSql,
    rival: (user) => changeOnService(service.team.users.has(user) ? user : undefined),
    act: (user) => {
      const what = random.fraction();
      if (what < 0.55) editInSql(user);
      else if (what < 0.85)
        changeOnService(user !== undefined && service.team.users.has(user) ? user : undefined);
      else if (what < 0.92) {
        if (plan.can('decisions')) decide();
      } else if (what < 0.96) {
        if (plan.can('departures')) comeAndGo();
      } else if (plan.can('login')) login();
    },
  };
}
