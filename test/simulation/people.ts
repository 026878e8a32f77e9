/** Those who edit in SQL and on the service, and those who decide. What they did is kept, for the invariants. */
import type { Random } from '../../src/emulator/random.ts';
import type { UserChange } from '../../src/emulator/update-user.ts';
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

export interface People {
  /** By user and column: all, the last one last. */
  readonly edits: ReadonlyMap<string, readonly Edit[]>;
  /** Approvals that stand for the edit that there is now. */
  readonly approvals: ReadonlyMap<string, Approval>;
  /** When a person decided anything about this field. */
  readonly decidedMs: ReadonlyMap<string, number>;
  /** One of them does something, to this user or to any. */
  act(user?: number): void;
  /** Only on the service. */
  rival(user: number): void;
  decide(): void;
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

const quoted = (text: string | null) => (text === null ? 'null' : `'${text.replaceAll("'", "''")}'`);

export const editors = ['anna', 'bob'];
export const deciders = ['carol', 'anna'];

export function createPeople(world: World, postgres: Postgres, service: Service, plan: Plan): People {
  const random: Random = world.random('people');
  const edits = new Map<string, Edit[]>();
  const approvals = new Map<string, Approval>();
  const decidedMs = new Map<string, number>();
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

  const columns: readonly Column[] = ['name', 'email', 'phone', 'role_id', 'email', 'name'];

  function editInSql(user?: number) {
    const by = random.pick(editors);
    const column = random.pick(columns);
    const isMass = user === undefined && random.between(0, 14) === 0;
    const isBack = random.between(0, 5) === 0;
    const { set } = drawValue(column);
    const id = user ?? random.pick([...service.history.keys()]);
    postgres.atRest(() => {
      const [team] = postgres.ask('select team_id from mirror.teams')[0] ?? [];
      if (team === undefined) return;
      const where = isMass ? 'gone_at is null' : `id = ${id}`;
      const back = {
        name: 'first_name = b.first_name, last_name = b.last_name',
        email: 'email = b.email',
        phone: 'phone = b.phone',
        role_id: 'role_id = b.role_id',
      }[column];
      const mass = column === 'email' ? `email = 'm' || id || '-${number}@example.com'` : set;
      const statement = isBack
        ? `set session authorization postgres; create temp table b on commit drop as select * from sync.user_base where id = ${id}; grant select on b to ${by}; set local session authorization ${by}; update mirror.users u set ${back} from b where u.id = b.id`
        : `update mirror.users set ${isMass ? mass : set} where ${where}`;
      const read = () => stateOf(isMass ? undefined : id, column);
      const before = read();
      if (inSql(by, statement) === undefined) return;
      for (const [of, { value, isBase }] of read()) {
        if (before.get(of)?.bytes === value.bytes) continue;
        const key = keyOf(of, column);
        const edit = { atMs: world.now(), user: of, column, by, value: canonicalOf(column, value.text) };
        edits.set(key, [...(edits.get(key) ?? []), { ...edit, isWithdrawn: isBase }]);
        approvals.delete(key);
        world.trace(`${by} sets ${column} of ${of} to ${value.text}${isBase ? ', as it was' : ''}`);
      }
    });
  }

  /** The values that users have in the mirror, and whether they are those that both sides agreed on. */
  function stateOf(user: number | undefined, column: Column) {
    const [bytes, text] =
      column === 'name'
        ? ['jsonb_build_array(%.first_name, %.last_name)', "%.first_name || ' ' || %.last_name"]
        : [`to_jsonb(%.${column})`, `%.${column}::text`];
    const of = (sql: string, table: string) => sql.replaceAll('%', table);
    const rows = postgres.ask(
      `select u.id, coalesce(${of(bytes, 'u')}::text, ''), ${of(text, 'u')}, coalesce(${of(bytes, 'u')}::text, '') = coalesce(${of(bytes, 'b')}::text, '') and b.id is not null
       from mirror.users u left join sync.user_base b on b.team_id = u.team_id and b.id = u.id ${user === undefined ? '' : `where u.id = ${user}`} order by 1`,
    );
    return new Map(
      rows.map(([id, own = null, value = null, isBase]) => [
        Number(id),
        { bytes: own, value: { bytes: own, text: value }, isBase: isBase === 't' },
      ]),
    );
  }

  function changeOnService(user?: number) {
    const id = user ?? random.pick([...service.team.users.keys()]);
    const column = random.pick(columns);
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

  function decide() {
    const by = random.pick(deciders);
    postgres.atRest(() => {
      const held = postgres.ask(
        `select user_id, field, reason, batch, mirror_text, edit_id from report.held
         where user_id is not null order by user_id, field`,
      );
      const batches = [...new Set(held.flatMap(([, , , batch]) => batch ?? []))];
      if (batches.length === 0) return;
      const batch = random.pick(batches);
      const isYes = random.between(0, 2) > 0;
      const revert = random.between(0, 1) === 0;
      const call = isYes
        ? `select user_id, field, outcome from sync.approve('${batch}', reason => 'looked at')`
        : `select user_id, field, outcome from sync.reject('${batch}', reason => 'no', revert => ${revert})`;
      const rows = inSql(by, call);
      if (rows === undefined) return;
      for (const [user, field, outcome] of rows) {
        const key = keyOf(Number(user), field ?? '');
        const row = held.find(([id, of]) => id === user && of === field);
        world.trace(`${by} ${isYes ? 'approves' : 'rejects'} ${field} of ${user}: ${outcome}`);
        if (outcome === 'approved' && row !== undefined)
          approvals.set(key, { atMs: world.now(), value: canonicalOf(field ?? '', row[4] ?? null), by });
        if (outcome === 'rejected') {
          approvals.delete(key);
          decidedMs.set(key, world.now());
        }
      }
    });
  }

  function loseRow() {
    postgres.atRest(() => {
      const [row] = postgres.ask('select id from mirror.users where gone_at is null order by id limit 1');
      if (row === undefined) return;
      const id = Number(row[0]);
      world.trace(`somebody deletes the row of ${id} past the triggers`);
      postgres.ask(
        `begin; set local session_replication_role = replica; delete from mirror.users where id = ${id}; commit`,
      );
      for (const column of columns) decidedMs.set(keyOf(id, column), world.now());
    });
  }

  function login() {
    const id = random.pick([...service.team.users.keys()]);
    service.change(id, {});
  }

  return {
    edits,
    approvals,
    decidedMs,
    decide,
    loseRow,
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
