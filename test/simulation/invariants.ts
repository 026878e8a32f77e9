/**
 * What must hold, whatever the seed. Each is one function: at the first byte of a push, at its effect, at each commit, and at
 * the end, when nothing has gone wrong for a while. docs/reliability.md has them in words.
 */
import { joinedName } from '../../src/emulator/wire/encode.ts';
import type { UserRecord } from '../../src/emulator/rules/played-team.ts';
import type { Commands, Done } from './commands.ts';
import { canonicalOf, type Column, columns, keyOf, type People } from './people.ts';
import type { Plan } from './plan.ts';
import type { Postgres } from './postgres.ts';
import type { Sent, Service } from './service.ts';
import type { Process, World } from './world.ts';

/** How long an edit may have been there before the first byte of a push that was marked before it. */
const lateMs = 50;
/** How long after the first answer about its users a push may leave: `sendDeadlineMs`, some places in the pace, and the way to the first byte. */
const freshMs = 5_000 + (6 * 60_000) / 500 + 50;

export class Violation extends Error {
  readonly invariant: string;
  constructor(invariant: string, what: string) {
    super(`${invariant}: ${what}`);
    this.invariant = invariant;
  }
}

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

/** How long an answer can be under way to a run that then marks a user as gone. */
const longestRunMs = 180_000;

export interface Invariants {
  /** @throws Violation */
  atEnd(): void;
  /** What was edited while nothing goes wrong has arrived by now, or is held. @throws Violation */
  isSent(key: string): void;
  /** What the service has had for a while is in the mirror by now, or is held. @throws Violation */
  isPulled(key: string): void;
  /** All rows that a run without news must leave as they are. */
  fingerprint(): string;
  readonly checked: ReadonlyMap<string, number>;
}

export function createInvariants(
  world: World,
  postgres: Postgres,
  service: Service,
  people: People,
  commands: Pick<Commands, 'asked' | 'silent' | 'onDone'>,
  plan: Plan,
  fail: (error: unknown) => void,
): Invariants {
  const own = `team_id = ${service.team.id}`;
  const checked = new Map<string, number>();
  let open = new Map<number, Open>();
  /** When each process last read each user: of when the answer tells, and when it was handed over. */
  const reads = new Map<Process, Map<number, { readonly asOfMs: number; readonly atMs: number }>>();
  /** By request and user: of when the answer tells that the process had read last when the request left. */
  const readBefore = new Map<string, number>();
  /** Of whom a resync was shown an old state, which it takes for the present one. */
  const misled = new Set<number>();
  const arrivals: number[] = [];
  const note = (invariant: string) => checked.set(invariant, (checked.get(invariant) ?? 0) + 1);
  function require(invariant: string, holds: boolean, what: () => string) {
    note(invariant);
    if (holds) return;
    const violation = new Violation(invariant, what());
    world.trace(`VIOLATION ${violation.message}`);
    fail(violation);
    throw violation;
  }

  service.onShown = (sent, ids, asOfMs) => {
    if (sent.by === undefined) return;
    if (commands.silent.has(sent.by) && asOfMs < sent.leftMs) for (const id of ids) misled.add(id);
    const own = reads.get(sent.by) ?? new Map<number, { asOfMs: number; atMs: number }>();
    for (const id of ids) own.set(id, { asOfMs, atMs: world.now() });
    reads.set(sent.by, own);
  };

  postgres.onEnd.push((_, isTelling) => {
    if (!isTelling) return;
    const rows = postgres.ask(
      `select user_id, base::text, new::text, change_id from sync.changes where ${own} and state = 'open'`,
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
    if (plan.can('copy')) readHome();
    if (plan.can('mass absence') || plan.can('departures')) marksAsGone();
  });

  /** Hosts by which the mirror is at home; `undefined`: nobody has said so yet. */
  let homes: ReadonlySet<string> | undefined;
  function readHome() {
    const [[text] = []] = postgres.ask(
      `select value::text from sync.learned where team = '' and topic = 'place'`,
    );
    if (text === undefined || text === null) return;
    const { kind, addresses } = JSON.parse(text) as { kind: string; addresses: readonly { at: string }[] };
    homes = new Set(kind === 'home' ? addresses.map(({ at }) => at.split(':')[0] ?? '') : []);
  }

  let gone: ReadonlySet<number> = new Set();
  /** Nobody is marked as gone who is there, and never many at once unless somebody said so. */
  function marksAsGone() {
    const rows = postgres.ask(`select id from mirror.users where ${own} and gone_at is not null order by id`);
    const now = new Set(rows.map(([id]) => Number(id)));
    const fresh = [...now].filter((id) => !gone.has(id));
    gone = now;
    for (const id of fresh) {
      const since = service.thereSince(id) ?? world.now();
      require('nobody is marked as gone who is there', world.now() - since < longestRunMs, () =>
        `user ${id} is marked as gone, and has been shown for ${(world.now() - since) / 1_000} s`);
    }
    const alone = fresh.filter((id) => !people.letGo.has(id));
    const most = Math.max(3, Math.floor(service.history.size * 0.1));
    if (fresh.length > 0)
      require('never many are marked as gone at once', alone.length <= most, () => alone.join(', '));
  }

  commands.onDone.push((done) => {
    if (done.order === 'undo') undoLeavesEdits(done);
    if (done.order === 'import') importsWhatWasShown(done);
    if (done.order === 'resync') resyncKeepsEdits(done);
  });

  /** What is undone is what both sides agree on: an edit that waits is somebody's, and stays. */
  function undoLeavesEdits({ changed, before }: Done) {
    for (const key of changed)
      require('an undo leaves edits alone', before.get(key)?.isBase === true, () =>
        `${key} was edited to ${before.get(key)?.text}, and is undone`);
  }

  /** An import writes over what its person saw, and over nothing else. */
  function importsWhatWasShown({ changed, before, shown }: Done) {
    for (const key of changed) {
      const [, column = ''] = key.split(' ');
      const was = canonicalOf(column, before.get(key)?.text ?? null);
      require('an import writes over what was shown', was === shown?.get(key), () =>
        `${key}: ${was}, and ${shown?.get(key)} was shown`);
    }
  }

  /** A resync takes what the service has; an edit that is nowhere else stays. */
  function resyncKeepsEdits({ changed, before }: Done) {
    for (const key of changed) {
      const [user = '', column = ''] = key.split(' ');
      const standing = before.get(key);
      if (standing === undefined || standing.isBase) continue;
      const was = canonicalOf(column, standing.text);
      const policy = plan.policy[column === 'role_id' ? 'roleId' : (column as 'name' | 'email' | 'phone')];
      const isKept = people.stateNow(Number(user)).get(key);
      const isSame = canonicalOf(column, isKept?.text ?? null) === was;
      require('a resync keeps edits', isSame ||
        (policy === 'service-wins' && wasGivenUp(Number(user), column, was)), () =>
        `${key} was edited to ${was}, and is ${isKept?.text} after a resync`);
    }
  }

  /** What is about to be sent was the mirror's value when it was written down. */
  function sameAsMirror(user: number, values: Readonly<Record<string, string>>) {
    const [row] = postgres.ask(
      `select first_name || ' ' || last_name, email, phone, role_id::text from mirror.users where ${own} and id = ${user}`,
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
    mayBeSent(sent, user);
    const intent = open.get(user);
    require('written down before it is sent', intent !== undefined, () =>
      `user ${user} in #${sent.id} has no open intent`);
    if (intent !== undefined) carries.set(`${sent.id} ${user}`, intent);
    const both = (item['first_name'] === undefined) === (item['last_name'] === undefined);
    require('both halves of a name, or none', both, () => JSON.stringify(item));
    const read = sent.by === undefined ? undefined : reads.get(sent.by)?.get(user);
    readBefore.set(`${sent.id} ${user}`, read?.asOfMs ?? 0);
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
      mayLeave(user, column, value);
      notForEver(user, column, value);
      if (plan.approve !== 'always') continue;
      // An edit that had to wait for the row while the push was marked comes before the first byte, and too late.
      const late = people.replaced.get(keyOf(user, column));
      const isLate = late !== undefined && world.now() - late.atMs <= lateMs;
      const approval = people.approvals.get(keyOf(user, column)) ?? (isLate ? late : undefined);
      const last = people.edits.get(keyOf(user, column))?.at(-1);
      const wasSentBefore = unanswered.get(keyOf(user, column)) === value;
      require('nothing goes without approval', approval?.value === value || wasSentBefore, () =>
        `${column} of ${user}: ${value}, last edited by ${last?.by}, approved: ${approval?.value ?? 'no'}`);
      if (plan.fourEyes && last !== undefined && approval !== undefined)
        require('nobody approves their own edit', last.by !== approval.by, () =>
          `${column} of ${user} by ${last.by}`);
      unanswered.set(keyOf(user, column), value);
    }
  }

  /** The same value over the same leaves three times at most without being seen to arrive, unless somebody decides. */
  function notForEver(user: number, column: Column, value: string) {
    const [[tries] = []] = postgres.ask(`
      select count(*)::text from sync.changes o join sync.changes c using (team_id, user_id)
      where o.${own} and o.user_id = ${user} and o.state = 'open' and c.change_id < o.change_id and c.kind = 'push'
        and c.sent_at is not null and c.new -> '${column}' = o.new -> '${column}'
        and c.old -> '${column}' is not distinct from o.old -> '${column}'
        and c.outcome ->> '${column}' in ('ineffective', 'missing', 'unanswered', 'unsent', 'refused')
        and not exists (
          select from sync.changes k
          where k.team_id = o.team_id and k.user_id = o.user_id and k.change_id > c.change_id and k.change_id < o.change_id
            and (k.kind in ('approve', 'reject', 'resolve', 'undo')
              or k.kind in ('pull', 'settle', 'adopt', 'return') and k.new ? '${column}'
              or k.kind = 'push' and k.outcome ->> '${column}' in ('confirmed', 'changed')))`);
    require('nothing is sent for ever', Number(tries) < 3, () =>
      `${column} of ${user}: ${value} was sent ${tries} times before`);
  }

  /** Only the mirror's own process sends, to its own team. */
  function mayBeSent({ by, id }: Sent, user: number) {
    require('a team is sent its own users', service.history.has(user), () => `user ${user} in #${id}`);
    if (by === undefined) return;
    require('a resync sends nothing', !commands.silent.has(by), () => `${by.name} sends #${id}`);
    if (homes !== undefined)
      require('a copy sends nothing', homes.has(by.host), () =>
        `${by.name} at ${by.host} sends #${id}, and the mirror is at home at ${[...(homes ?? [])].join(', ')}`);
  }

  /** What a person holds, or has taken back, does not leave. */
  function mayLeave(user: number, column: Column, value: string) {
    const key = keyOf(user, column);
    const hold = commands.asked.find(
      (one) => one.key === key && one.fromMs < world.now() && world.now() < one.untilMs,
    );
    require('what is held on request is not sent', hold === undefined, () =>
      `${key}: ${value} is sent ${(world.now() - (hold?.fromMs ?? 0)) / 1_000} s after somebody asked to hold it`);
    const back = people.takenBack.get(key);
    const there = service.team.users.get(user);
    const hasMoved = there !== undefined && onService(there, column) !== back?.over;
    require('an approval that was taken back lets nothing pass', back?.value !== value || hasMoved, () =>
      `${key}: ${value}`);
  }
  /** By request and user: the intent that it carries out. */
  const carries = new Map<string, Open>();
  /** Approved once, and sent: it may be sent again if nothing came of it. */
  const unanswered = new Map<string, string>();

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
    const change = carries.get(`${sent.id} ${user}`)?.change;
    // The push of a row that somebody deleted past the triggers is over with it.
    if (change === undefined || people.lostRows.has(user)) return;
    const [[state, outcome] = []] = postgres.ask(
      `select state, outcome::text from sync.changes where ${own} and change_id = ${change}`,
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
    const asOfMs = readBefore.get(`${sent.id} ${user}`) ?? 0;
    if (set.atMs >= asOfMs || set.atMs >= sent.leftMs - freshMs) return;
    const field = column === 'role_id' ? 'roleId' : column;
    const mayWin =
      plan.policy[field] === 'mirror-wins' ||
      people.approvals.has(keyOf(user, column)) ||
      people.decidedMs.has(keyOf(user, column));
    const { base: bases = {} } = carries.get(`${sent.id} ${user}`) ?? {};
    const base = textOf(column, column === 'name' ? (bases['joined'] ?? bases['name']) : bases[column]);
    require('no value is overwritten that had been read', mayWin || base === old, () =>
      `${column} of ${user}: ${old}, set ${((sent.leftMs - set.atMs) / 1_000).toFixed(3)} s before #${sent.id}, is overwritten by ${value}; the intent's base is ${base}`);
  }

  /** What a run took for a change of the service was made there by somebody else than musterd. */
  function movedByOthers() {
    // An answer of before looks like a change of now where no version tells them apart.
    if (plan.variants['updated-at'] === 'stuck' && plan.can('stale')) return;
    const rows = postgres.ask(`
      select c.user_id, f.field, c.kind, c.base -> f.field, c.new -> f.field from sync.changes c
      cross join lateral jsonb_object_keys(c.new) f (field) where c.${own} and c.kind in ('pull', 'hold') order by c.change_id`);
    for (const [id, field = null, kind, base, now] of rows) {
      const column = columns.find((one) => one === field);
      // An update without a name clears it there, which is nobody's change either.
      const isCleared = column === 'name' && plan.variants['email-update'] === 'clears-name';
      // A row that is made again takes what an update of ours has set there meanwhile.
      if (column === undefined || isCleared || people.lostRows.has(Number(id)) || misled.has(Number(id)))
        continue;
      const [was, is] = [base, now].map((value) => textOf(column, JSON.parse(value ?? 'null')));
      if (is === undefined || was === is) continue;
      const versions = service.history.get(Number(id)) ?? [];
      const values = versions.map(({ user }) => onService(user, column));
      const others = values.some(
        (value, at) => value === is && versions[at]?.by !== 'musterd' && values[at - 1] !== is,
      );
      require('no value that musterd set is pulled or held', others, () =>
        `${column} of ${id}: ${kind} of ${is}, which only musterd has set on the service`);
    }
  }

  function atEnd() {
    movedByOthers();
    require('no intent stays open', open.size === 0, () => [...open.keys()].join(', '));
    const held = postgres.ask(`select h.batch, count(distinct (e.edited_by, e.actor)) from sync.held_fields h
      join sync.edits e on e.edit_id = h.edit_id where h.${own} and h.decision is null and e.ended_at is null group by 1`);
    for (const [batch, authors] of held) {
      require('each held edit is in a batch', batch !== null, () => 'one is in none');
      require('no edit of two authors in one batch', authors === '1', () => `${batch} has ${authors}`);
    }
    const rows = postgres.ask(`
      select u.id, u.gone_at is not null, u.resolved, u.first_name || ' ' || u.last_name, u.email, u.phone, u.role_id::text,
        b.name, b.email, b.phone, b.role_id::text, b.first_name || ' ' || b.last_name,
        coalesce((select jsonb_object_agg(h.field, h.reason || coalesce(' ' || h.decision, '')) from sync.held_fields h where h.${own} and h.user_id = u.id), '{}')::text
      from mirror.users u left join sync.user_base b on b.team_id = u.team_id and b.id = u.id where u.${own} order by u.id`);
    for (const hold of commands.asked) leftAlone(hold);
    holdsAreTrue();
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

  /** What a hold says: the values are those of now, and its reason can be seen. */
  function holdsAreTrue() {
    const rows = postgres.ask(`
      select h.user_id, h.field, h.reason, h.detail, h.decision, h.base_value, h.mirror_value, h.shown_value,
        case h.field when 'name' then to_jsonb(u.first_name || ' ' || u.last_name) else to_jsonb(u) -> h.field end,
        coalesce((select c.outcome ->> h.field from sync.changes c where c.team_id = h.team_id and c.user_id = h.user_id
          and c.kind = 'push' and c.sent_at is not null and c.new ? h.field and coalesce(c.new ->> h.field, '') = coalesce(h.mirror_value #>> '{}', '') order by c.change_id desc limit 1), ''),
        exists (select from sync.changes c where c.team_id = h.team_id and c.user_id = h.user_id and c.kind = 'return'),
        h.until > now(), h.mirror_value is distinct from h.base_value
      from sync.held_fields h join mirror.users u on u.team_id = h.team_id and u.id = h.user_id
      where h.${own} and u.gone_at is null and u.resolved order by 1, 2`);
    const isAbsent = plan.variants.blank === 'absent';
    for (const [id, field, reason = '', detail = '', decision, ...rest] of rows) {
      const column = columns.find((one) => one === field);
      const there = service.team.users.get(Number(id));
      if (column === undefined || there === undefined) continue;
      const [base, noted, shown, mirror] = rest
        .slice(0, 4)
        .map((text) => textOf(column, JSON.parse(text ?? 'null')));
      // The halves of a name count here, which the service joins.
      const [outcome = '', hasReturned, isAsked, isAnew] = rest.slice(4);
      const theirs = onService(there, column);
      // Another case of an email, or other halves of a name.
      const isSpelledAnew = isAnew === 't' && (base === mirror || column === 'name');
      const differs = mirror !== theirs || isSpelledAnew;
      const says = `${column} of ${id} (${plan.approve}) is held as ${reason} (${detail}), decided ${decision}`;
      if (reason !== 'asked')
        require('a hold shows the mirror as it is', noted === mirror, () =>
          `${says}: ${noted}, and is ${mirror}`);
      require('a hold shows the service as it is', shown === theirs || (isAbsent && theirs === ''), () =>
        `${says}: ${shown}, and is ${theirs}`);
      const hasCompanion = (why: string) => {
        const [, other] = /^edited together with (\w+): /.exec(why) ?? [];
        return other === undefined || rows.some(([user, held]) => user === id && held === other);
      };
      const isTrue: Readonly<Record<string, () => boolean>> = {
        conflict: () =>
          (differs || isAbsent) &&
          (base !== theirs || detail?.startsWith('changed back 3 times') === true) &&
          (base !== mirror || isSpelledAnew || theirs === ''),
        refused: () => outcome === 'refused' && differs,
        ineffective: () =>
          ['ineffective', 'missing', 'unanswered', 'unsent'].includes(outcome ?? '') && differs,
        unsupported: () => differs,
        returned: () => hasReturned === 't' && (differs || isAbsent),
        limit: () => differs && !isOver(detail ?? '', column, mirror) && hasCompanion(detail ?? ''),
        // If the service leaves an empty value out, musterd cannot see that both sides are empty.
        review: () => differs || isAbsent,
        asked: () => isAsked === 't',
      };
      // What is decided has the reason of then.
      require('a hold has its reason', decision !== null || isTrue[reason ?? '']?.() === true, () =>
        `${says}: base ${base}, mirror ${mirror}, service ${theirs}, last outcome ${outcome}`);
    }
  }

  /** A shared address that nobody else has any more, on either side. A missing user keeps it until the mirror counts them as gone. */
  function isOver(detail: string, column: Column, mine: string | undefined): boolean {
    const [, other] = /^user (\d+) has or will get the same/.exec(detail) ?? [];
    if (other === undefined) return false;
    const there = service.team.users.get(Number(other));
    const here = people.stateNow(Number(other)).get(keyOf(Number(other), column))?.text ?? null;
    const [agreed] = postgres.ask(
      `select ${column} from sync.user_base join (select team_id, id from mirror.users where gone_at is null) u using (team_id, id) where ${own} and id = ${other}`,
    );
    const shown = there === undefined ? '' : onService(there, column);
    // An answer that leaves an empty field out does not say that it is empty: the base stays.
    const isSaid = there !== undefined && (shown !== '' || plan.variants.blank !== 'absent');
    const counted = isSaid ? shown : canonicalOf(column, agreed?.[0] ?? null);
    return canonicalOf(column, here) !== mine && counted !== mine;
  }

  /** What was held on request was not pulled meanwhile either. */
  function leftAlone({ key, fromMs, untilMs }: Commands['asked'][number]) {
    const [user, column = ''] = key.split(' ');
    const [row] = postgres.ask(
      `select kind, old -> '${column}', new -> '${column}' from sync.changes
       where ${own} and user_id = ${user} and kind = 'pull' and new ? '${column}'
         and opened_at > to_timestamp(${fromMs / 1_000}) and opened_at < to_timestamp(${untilMs / 1_000})`,
    );
    require('what is held on request is not pulled', row === undefined, () =>
      `${key} was held from ${fromMs} to ${untilMs}, and pulled: ${row?.join(' ')}`);
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
        `select old -> '${column}' from sync.changes where ${own} and user_id = ${user} and kind in ('pull', 'adopt', 'return') and old ? '${column}'`,
      )
      .some(([old]) => textOf(column, JSON.parse(old ?? 'null')) === value);

  const fingerprint = () =>
    JSON.stringify([
      postgres.ask(`select u.* from mirror.users u where ${own} order by 1, 2`),
      postgres.ask(`select b.* from sync.user_base b where ${own} order by 1, 2`),
      postgres.ask(
        `select user_id, field, reason, base_value, mirror_value, service_value, shown_value, batch, decision, edit_id from sync.held_fields where ${own} order by 1, 2`,
      ),
      postgres.ask(`select count(*), max(change_id) from sync.changes where ${own}`),
      service.pushes,
    ]);

  const isHeld = (key: string) => {
    const [user, column] = key.split(' ');
    const rows = postgres.ask(
      `select from sync.held_fields where ${own} and user_id = ${user} and field = '${column}'`,
    );
    return rows.length > 0;
  };

  function isSent(key: string) {
    const [user, column] = key.split(' ') as [string, Column];
    const last = people.edits.get(key)?.at(-1);
    const there = service.team.users.get(Number(user));
    const hasArrived = there === undefined || onService(there, column) === last?.value;
    // The service wins where the settings say so, over an edit of a user who has moved there unseen.
    const [[isOverruled] = []] = postgres.ask(
      `select ended_how = 'overruled' from sync.edits
       where ${own} and user_id = ${user} and field = '${column}' order by edit_id desc limit 1`,
    );
    const isSettled = hasArrived || isHeld(key) || isOverruled === 't';
    require('the daemon sends an edit within seconds', isSettled, () =>
      `${key}: ${last?.value}, edited ${(world.now() - (last?.atMs ?? 0)) / 1_000} s ago`);
  }

  function isPulled(key: string) {
    const [user, column] = key.split(' ') as [string, Column];
    const there = service.team.users.get(Number(user));
    const mirror = people.stateNow(Number(user)).get(key);
    const isSame =
      there === undefined || onService(there, column) === canonicalOf(column, mirror?.text ?? null);
    // Nobody who is only listed is pulled.
    const [[isResolved] = []] = postgres.ask(
      `select resolved from mirror.users where ${own} and id = ${user}`,
    );
    // Another team's push may have changed a shared user after this daemon's last read, which comes each minute.
    const isRecent = (service.history.get(Number(user))?.at(-1)?.atMs ?? 0) > world.now() - 90_000;
    const isFine = isSame || isResolved !== 't' || isHeld(key) || isRecent;
    require('the daemon pulls by its schedule', isFine, () => `${key}: the mirror has ${mirror?.text}`);
  }

  return { atEnd, fingerprint, isSent, isPulled, checked };
}
