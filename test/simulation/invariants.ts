/**
 * What must hold, whatever the seed. Each is one function: at the first byte of a push, at its effect, at each commit, and at
 * the end, when nothing has gone wrong for a while. The names are those of docs/reliability.md.
 */
import { joinedName } from '../../src/emulator/encode.ts';
import type { UserRecord } from '../../src/emulator/played-team.ts';
import { canonicalOf, keyOf, type People } from './people.ts';
import type { Plan } from './plan.ts';
import type { Postgres } from './postgres.ts';
import type { Sent, Service } from './service.ts';
import type { Process, World } from './world.ts';

/** How long after the read a push may leave: `sendDeadlineMs`, a place in the pace, and the way to the first byte. */
const freshMs = 5_000 + 60_000 / 500 + 50;

export class Violation extends Error {
  readonly invariant: string;
  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`);
    this.invariant = invariant;
  }
}

const columns = ['name', 'email', 'phone', 'role_id'] as const;
type Column = (typeof columns)[number];

const onService = (user: UserRecord, column: Column): string => {
  const value = {
    name: joinedName(user),
    email: user.email,
    phone: user.phone,
    role_id: String(user.roleId),
  };
  return canonicalOf(column, value[column]);
};

/** What an update says of a column, in canonical form; `undefined`: nothing. */
function said(item: Readonly<Record<string, unknown>>, column: Column): string | undefined {
  if (column === 'name') {
    const { first_name: first, last_name: last } = item as { first_name?: string; last_name?: string };
    return first === undefined ? undefined : canonicalOf('name', `${first} ${last}`);
  }
  const value = item[column];
  return typeof value === 'string' || typeof value === 'number'
    ? canonicalOf(column, String(value))
    : undefined;
}

/** An intent as it was committed. */
interface Open {
  readonly change: string;
  readonly user: number;
  readonly base: Readonly<Record<string, unknown>>;
  readonly values: Readonly<Record<string, string>>;
}

const textOf = (column: string, value: unknown): string => {
  if (typeof value === 'object' && value !== null) {
    const { first, last } = value as { first?: string; last?: string };
    return canonicalOf('name', `${first} ${last}`);
  }
  return canonicalOf(column, value === null || value === undefined ? null : String(value as string | number));
};

export interface Invariants {
  /** @throws Violation */
  atEnd(): void;
  /** All rows that a run without news must leave as they are. */
  fingerprint(): string;
  readonly checked: ReadonlyMap<string, number>;
}

export function createInvariants(
  world: World,
  postgres: Postgres,
  service: Service,
  people: People,
  plan: Plan,
): Invariants {
  const checked = new Map<string, number>();
  let open = new Map<number, Open>();
  /** When each process last read each user: of when the answer tells, and when it was handed over. */
  const reads = new Map<Process, Map<number, { readonly asOfMs: number; readonly atMs: number }>>();
  const arrivals: number[] = [];
  const note = (invariant: string) => checked.set(invariant, (checked.get(invariant) ?? 0) + 1);
  function require(invariant: string, holds: boolean, what: () => string) {
    note(invariant);
    if (holds) return;
    const violation = new Violation(invariant, what());
    world.trace(`VIOLATION ${violation.message}`);
    throw violation;
  }

  service.onShown = (sent, ids, asOfMs) => {
    if (sent.by === undefined) return;
    const own = reads.get(sent.by) ?? new Map<number, { asOfMs: number; atMs: number }>();
    for (const id of ids) own.set(id, { asOfMs, atMs: world.now() });
    reads.set(sent.by, own);
  };

  postgres.onCommit = () => {
    const rows = postgres.ask(
      `select user_id, base::text, new::text, change_id from sync.changes where state = 'open'`,
    );
    const before = open;
    open = new Map();
    for (const [user, base, values, change] of rows) {
      const id = Number(user);
      require('one open intent', !open.has(id), () => `user ${id} has two`);
      const wanted = JSON.parse(values ?? '{}') as Record<string, unknown>;
      const texts = Object.fromEntries(
        Object.entries(wanted).map(([column, value]) => [column, textOf(column, value)]),
      );
      open.set(id, {
        change: change ?? '',
        user: id,
        base: JSON.parse(base ?? '{}') as Open['base'],
        values: texts,
      });
      if (!before.has(id)) sameAsMirror(id, texts);
    }
  };

  /** What is about to be sent was the mirror's value when it was written down. */
  function sameAsMirror(user: number, values: Readonly<Record<string, string>>) {
    const [row] = postgres.ask(
      `select first_name || ' ' || last_name, email, phone, role_id::text from mirror.users where id = ${user}`,
    );
    for (const [at, column] of columns.entries()) {
      const value = values[column];
      if (value === undefined) continue;
      const mirror = canonicalOf(column, row?.[at] ?? null);
      require('an intent is what the mirror has', value === mirror, () =>
        `${column} of ${user}: ${value}, and the mirror has ${mirror}`);
    }
  }

  service.onLeave = (sent) => {
    arrivals.push(world.now());
    const lately = arrivals.filter((at) => at > world.now() - 60_000).length;
    require('at most 500 requests a minute', lately <= 500, () => String(lately));
    for (const item of sent.body.users ?? []) leaves(sent, item);
  };

  function leaves(sent: Sent, item: Readonly<Record<string, unknown>>) {
    const user = Number(item['id']);
    const intent = open.get(user);
    require('written down before it is sent', intent !== undefined, () =>
      `user ${user} in #${sent.id} has no open intent`);
    if (intent !== undefined) carries.set(`${sent.id} ${user}`, intent.change);
    const both = (item['first_name'] === undefined) === (item['last_name'] === undefined);
    require('both halves of a name, or none', both, () => JSON.stringify(item));
    const read = sent.by === undefined ? undefined : reads.get(sent.by)?.get(user);
    const age = sent.leftMs - (read?.atMs ?? -Infinity);
    require('a push leaves soon after the read', age <= freshMs, () =>
      `user ${user} in #${sent.id}: read ${age} ms ago`);
    for (const column of columns) {
      const value = said(item, column);
      if (value === undefined || intent === undefined) continue;
      const written = intent.values[column];
      if (column === 'name' && written === undefined) {
        // On a service that clears names the known one goes along.
        continue;
      }
      require('what is sent was written down', written === value, () =>
        `${column} of ${user}: ${value}, and the intent has ${written}`);
      if (plan.approve !== 'always') continue;
      const approval = people.approvals.get(keyOf(user, column));
      const last = people.edits.get(keyOf(user, column))?.at(-1);
      const wasSentBefore = unanswered.has(keyOf(user, column));
      require('nothing goes without approval', approval?.value === value || wasSentBefore, () =>
        `${column} of ${user}: ${value}, last edited by ${last?.by}, approved: ${approval?.value ?? 'no'}`);
      if (plan.fourEyes && last !== undefined && approval !== undefined)
        require('nobody approves their own edit', last.by !== approval.by, () =>
          `${column} of ${user} by ${last.by}`);
      unanswered.add(keyOf(user, column));
    }
  }
  /** By request and user: the intent that it carries out. */
  const carries = new Map<string, string>();
  /** Approved once, and sent: it may be sent again if nothing came of it. */
  const unanswered = new Set<string>();

  service.onApply = (sent, before) => {
    for (const item of sent.body.users ?? []) {
      const user = Number(item['id']);
      const old = before.get(user);
      const now = service.team.users.get(user);
      if (old === undefined || now === undefined) continue;
      postgres.atRest(() => stillOpen(sent, user, item, old));
      for (const column of columns) arrives(sent, user, column, said(item, column), onService(old, column));
    }
  };

  /** A push that was given up has no effect any more. */
  function stillOpen(sent: Sent, user: number, item: Readonly<Record<string, unknown>>, old: UserRecord) {
    const change = carries.get(`${sent.id} ${user}`);
    if (change === undefined) return;
    const [[state, outcome] = []] = postgres.ask(
      `select state, outcome::text from sync.changes where change_id = ${change}`,
    );
    const outcomes = JSON.parse(outcome ?? '{}') as Record<string, string>;
    for (const column of columns) {
      const value = said(item, column);
      if (value === undefined || value === onService(old, column)) continue;
      const isOver =
        state === 'closed' &&
        ['unanswered', 'ineffective', 'missing', 'unsent'].includes(outcomes[column] ?? '');
      require('what was given up has no effect', !isOver, () =>
        `${column} of ${user}, sent in #${sent.id}, takes effect after it was closed as ${outcomes[column]}`);
    }
  }

  /** A value that somebody set on the service is not overwritten by a run that had read it, unless that was decided. */
  function arrives(sent: Sent, user: number, column: Column, value: string | undefined, old: string) {
    if (value === undefined || value === old) return;
    const versions = service.history.get(user) ?? [];
    const at = versions.findLastIndex(
      (version) =>
        version.by !== 'musterd' &&
        onService(version.user, column) === old &&
        onService(versions[versions.indexOf(version) - 1]?.user ?? version.user, column) !== old,
    );
    const set = versions[at];
    if (set === undefined) return;
    const read = sent.by === undefined ? undefined : reads.get(sent.by)?.get(user);
    const readAt = sent.leftMs - freshMs;
    if (set.atMs >= Math.min(read?.asOfMs ?? 0, sent.leftMs) || set.atMs >= readAt) return;
    const field = column === 'role_id' ? 'roleId' : column;
    const mayWin =
      plan.policy[field] === 'mirror-wins' ||
      people.approvals.has(keyOf(user, column)) ||
      people.decidedMs.has(keyOf(user, column));
    const base = lastBase.get(keyOf(user, column));
    require('no value is overwritten that had been read', mayWin || base === old, () =>
      `${column} of ${user}: ${old}, set ${((sent.leftMs - set.atMs) / 1_000).toFixed(3)} s before #${sent.id}, is overwritten by ${value}; the intent's base is ${base}`);
  }
  const lastBase = {
    get: (key: string): string | undefined => {
      const [user = '', column = ''] = key.split(' ');
      const intent = open.get(Number(user));
      if (intent === undefined) return undefined;
      const value = column === 'name' ? (intent.base['joined'] ?? intent.base['name']) : intent.base[column];
      return textOf(column, value);
    },
  };

  function atEnd() {
    require('no intent stays open', open.size === 0, () => [...open.keys()].join(', '));
    const rows = postgres.ask(`
      select u.id, u.gone_at is not null, u.resolved, u.first_name || ' ' || u.last_name, u.email, u.phone, u.role_id::text,
        b.name, b.email, b.phone, b.role_id::text, b.first_name || ' ' || b.last_name,
        coalesce((select jsonb_object_agg(h.field, h.reason || coalesce(' ' || h.decision, '')) from sync.held_fields h where h.user_id = u.id), '{}')::text
      from mirror.users u left join sync.user_base b on b.team_id = u.team_id and b.id = u.id order by u.id`);
    for (const [id, gone, isResolved, ...values] of rows) {
      // Nobody who is only listed is pulled or pushed.
      if (isResolved === 'f') continue;
      const user = Number(id);
      const [mirror, base] = [values.slice(0, 4), values.slice(4, 8)];
      const held = JSON.parse(values[9] ?? '{}') as Record<string, string>;
      const there = service.team.users.get(user);
      require('gone where the service has no such user', there === undefined || gone === 'f', () =>
        `user ${user} is marked as gone, and is there`);
      for (const [at, column] of columns.entries()) {
        const isHeld = held[column] !== undefined;
        const [mine, agreed] = [
          canonicalOf(column, mirror[at] ?? null),
          canonicalOf(column, base[at] ?? null),
        ];
        if (there !== undefined && !isHeld) {
          const theirs = onService(there, column);
          // An answer that leaves an empty field out does not say that it is empty.
          const isSaid = theirs !== '' || plan.variants.blank !== 'absent';
          require('both sides agree in the end', mine === agreed && (agreed === theirs || !isSaid), () =>
            `${column} of ${user}: mirror ${mine}, base ${agreed}, service ${theirs}`);
        }
        kept(user, column, mine, isHeld, there === undefined);
      }
    }
  }

  /** The last edit of each field arrived, or is there to be seen. */
  function kept(user: number, column: Column, mirror: string, isHeld: boolean, isGone: boolean) {
    const key = keyOf(user, column);
    const last = people.edits.get(key)?.at(-1);
    if (last === undefined || last.isWithdrawn) return;
    const versions = service.history.get(user) ?? [];
    const arrived = versions.some((version, at) => {
      const endMs = versions[at + 1]?.atMs ?? Infinity;
      return endMs >= last.atMs && onService(version.user, column) === last.value;
    });
    const waits = mirror === last.value && (isHeld || isGone);
    const field = column === 'role_id' ? 'roleId' : column;
    const decided = (people.decidedMs.get(key) ?? -1) >= last.atMs;
    // The policy gave it up: the ledger has what the mirror had.
    const givenUp = plan.policy[field] === 'service-wins' && wasGivenUp(user, column, last.value);
    require('no edit is lost', arrived || waits || decided || givenUp, () =>
      `${column} of ${user}: ${last.value} (${((last.atMs - world.now()) / -1_000).toFixed(1)} s ago, by ${last.by}) never arrived and waits nowhere; the mirror has ${mirror}`);
  }

  const wasGivenUp = (user: number, column: string, value: string) =>
    postgres
      .ask(
        `select old -> '${column}' from sync.changes where user_id = ${user} and kind in ('pull', 'adopt', 'return') and old ? '${column}'`,
      )
      .some(([old]) => textOf(column, JSON.parse(old ?? 'null')) === value);

  const fingerprint = () =>
    JSON.stringify([
      postgres.ask('select u.* from mirror.users u order by 1, 2'),
      postgres.ask('select b.* from sync.user_base b order by 1, 2'),
      postgres.ask(
        'select user_id, field, reason, base_value, mirror_value, service_value, shown_value, batch, decision, edit_id from sync.held_fields order by 1, 2',
      ),
      postgres.ask('select count(*), max(change_id) from sync.changes'),
      service.pushes,
    ]);

  return { atEnd, fingerprint, checked };
}
