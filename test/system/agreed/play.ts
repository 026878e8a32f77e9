/** Plays steps on a team of six, tells the model of each, and asks it about everything that the service is sent. */
import { runReconcile } from '../../../src/runs/sync/reconcile-team.ts';
import { resolve, type SeenField, type WinningValue } from '../../../src/runs/decide/resolve-field.ts';
import { MusterdError } from '../../../src/errors.ts';
import { createLog } from '../../../src/log.ts';
import { createDatabase } from '../../../src/mirror/db/database.ts';
import { runSqlText } from '../../../src/mirror/db/sql-text.ts';
import type { LoggedRequest } from '../../../src/emulator/wire/request-log.ts';
import type { UserRecord } from '../../../src/emulator/rules/played-team.ts';
import { createPostgresProxy } from '../../support/postgres-proxy.ts';
import { configFor } from '../stage.ts';
import {
  createAgreement,
  type Edit,
  type Fact,
  type Field,
  keyOf,
  type Somebody,
} from './agreement-model.ts';
import { createShelf } from './back-up.ts';
import { createTeams, type Person } from './people.ts';
import type { Aim, Settings, Step } from './steps.ts';

const update = '/v1/users/update';
/** What a run does: tags and counts have no part in this. */
const groupsOf = ({ group = 'users' }: Extract<Step, { kind: 'run' }>) => [group] as const;
const silent = createLog({ level: 'silent' });
/** People on whose behalf a role says that it acts, each in several spellings. */
const actors = ['Anna Berg', 'anna  BERG', 'Anna\u00A0Berg\u200B', 'Zo\u00EB', 'ZOE\u0308', 'Carol'] as const;
const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const asNumber = (text: string | undefined) => Number(text ?? 0);

/** What a row of the service's answers has, in the model's words. */
type Shown = Readonly<Record<Field | 'updated_at' | 'user_updated_at' | 'id', string | number | null>>;

/** The values that a field of the so-manieth user gets; the fifth one is refused, the sixth is another user's. */
function valueAt(field: Field, place: number, at: number): string {
  const own = `${place}${at}`;
  const values = {
    name: `Name${at} Of${place}`.replace(' ', '|'),
    email: at === 4 ? `a@b@${own}.example.com` : `mail${at === 5 ? `${(place + 1) % 6}0` : own}@example.com`,
    phone: at === 4 ? '99' : `155501${own}`,
    role_id: at === 4 ? '99' : (['4', '17', '23', '1042'][at % 4] ?? '4'),
  };
  return values[field];
}

/** As an assignment in SQL. */
function assigned(field: Field, value: string): string {
  if (field === 'role_id') return `role_id = ${value}`;
  const [first = '', last = ''] = value.split('|');
  return field === 'name'
    ? `first_name = ${quoted(first)}, last_name = ${quoted(last)}`
    : `${field} = ${quoted(value)}`;
}

interface Row extends Fact {
  /** The batch that the row has kept, be it about an edit that has ended. */
  readonly hash: string;
  readonly edit: string;
  readonly decision: string;
}

/** What SQL shows of each field of each user: asked before and after each request, so that it is planned once. */
const facts = `create function first.facts() returns setof text[] language plpgsql as $$ begin return query
  select array[u.id::text, f.field, f.mirror, f.base, case when h.field is null then f.joined else h.shown_value #>> '{}' end,
    sync.is_under_way(u.team_id, u.id, f.field)::text, sync.held_because(h.reason, h.decision, h.until), h.service_value #>> '{}',
    case when h.decision is distinct from 'rejected' then h.batch end, h.edit_id::text, nullif(h.decision, 'rejected'),
    case when exists (select from sync.edits e
      where e.team_id = u.team_id and e.user_id = u.id and e.field = f.field and e.edit_id = h.edit_id and e.ended_at is null
        and case f.field when 'name' then concat(e.new_value ->> 'first', '|', e.new_value ->> 'last') else e.new_value #>> '{}' end = f.mirror)
        and h.decision is distinct from 'rejected' then h.batch end]
  from mirror.users u join sync.user_base b on b.team_id = u.team_id and b.id = u.id
  cross join lateral (values ('name', u.first_name || '|' || u.last_name, b.first_name || '|' || b.last_name, b.name),
    ('email', u.email, b.email, b.email), ('phone', u.phone, b.phone, b.phone),
    ('role_id', u.role_id::text, b.role_id::text, b.role_id::text)) f (field, mirror, base, joined)
  left join sync.held_fields h on h.team_id = u.team_id and h.user_id = u.id and h.field = f.field
  order by u.id, f.field; end $$`;

export type Play = Awaited<ReturnType<typeof createPlay>>;

/** One team for all sequences: each begins with the same users, equal on both sides. */
export async function createPlay() {
  const teams = createTeams();
  const team = await teams.open({ emulator: { users: 6 }, push: { approve: 'guarded', fourEyes: false } });
  const { emulator, db } = team;
  const sql = (text: string) => team.sql(text);
  const ids = emulator.team.users().map(({ id }) => id);
  const keys = ['name', 'email', 'phone', 'role_id'] as const;
  for (const [place, id] of ids.entries()) {
    const [first = '', last = ''] = valueAt('name', place, 0).split('|');
    const [email, phone] = [valueAt('email', place, 0), valueAt('phone', place, 0)];
    emulator.team.editUser(id, { first, last, email, phone, roleId: 4 });
  }
  await team.run();
  // The deployment is known to leave names alone.
  for (const at of [1, 0]) {
    await sql(`update mirror.users set phone = '${valueAt('phone', 0, at)}' where id = ${ids[0]}`);
    await team.run();
  }
  await sql(`delete from sync.edits; delete from sync.changes`);
  const initial = emulator.team.users();
  const first = await createShelf(team, 'first');
  const kept = await createShelf(team, 'kept');
  await first.keep();
  await sql(facts);
  const people = {
    bob: team.bob,
    mallory: team.mallory,
    eve: await team.person('eve', 'musterd_editor', 'musterd_role_editor'),
    carol: team.carol,
    dora: await team.person('dora', 'musterd_approver'),
  };
  const [[owner = ''] = []] = await sql('select session_user');

  /** Plays one sequence. @throws an Error in words where something is sent, or left, that may not be */
  async function play({ isReviewed }: Settings, steps: readonly Step[]): Promise<void> {
    for (const record of initial) emulator.team.showUser(record.id, record);
    await first.putBack(true);
    const model = createAgreement(isReviewed);
    const wrong: string[] = [];
    /** What happened, for whoever reads of a failure. */
    const story: string[] = [];
    const say = (what: unknown) => void story.push(typeof what === 'string' ? what : JSON.stringify(what));
    const fail = (found: readonly string[]) => {
      if (found.length > 0) throw new Error(`${found.join('\n')}\n\n${story.join('\n')}`);
    };
    const unhook: (() => void)[] = [];
    const push = { approve: isReviewed ? 'always' : 'guarded', fourEyes: true, quietPeriodMs: 0 } as const;
    const guard = { ...team.config.guard, maxRows: 2, maxRoleChanges: 100 };
    const config = configFor(emulator.environment, { push, guard });
    let rows: readonly Row[] = [];
    let putBack: ((numbers: boolean) => Promise<void>) | undefined;
    let fault = 'none';
    const hashes: string[] = [];
    /** The numbers that edits of a field had. */
    const numbers = new Map<string, Set<string>>();
    const past = new Set<string>();

    const readRows = async (): Promise<readonly Row[]> =>
      (await runSqlText(db, 'select first.facts()')).rows.map(([texts]) => {
        const row = (texts as readonly (string | null)[]).map((text) => text ?? '');
        const [id, field, mirror = '', base = '', shown = '', open, reason = '', over = ''] = row;
        const [hash = '', edit = '', decision = '', batch = ''] = row.slice(8);
        const inWords = (value: string) => (field === 'name' ? value.replace(' ', '|') : value);
        return {
          user: asNumber(id),
          field: field as Field,
          mirror,
          base,
          shown: inWords(shown),
          isOpen: open === 'true',
          reason,
          over: inWords(over),
          batch,
          hash,
          edit,
          decision,
        };
      });
    const look = async () => {
      rows = await readRows();
      wrong.push(...model.look(rows));
      for (const row of rows) {
        if (row.hash !== '' && !hashes.includes(row.hash)) hashes.push(row.hash);
        if (row.edit !== '') numbers.set(keyOf(row), (numbers.get(keyOf(row)) ?? new Set()).add(row.edit));
      }
    };
    const rowOf = (key: string) => rows.find((row) => keyOf(row) === key);
    const userAt = (place: number) => ids[place % ids.length] ?? 0;
    const editors = [people.bob, people.mallory, people.eve];
    const lasting = () => [...model.edits().keys()];
    const pickFrom = <T>(all: readonly T[], pick: number): T | undefined =>
      all[pick % Math.max(1, all.length)];

    /** One statement of somebody, for any number of fields and users. */
    const edit = async (
      person: Person,
      changes: ReadonlyMap<number, ReadonlyMap<Field, string>>,
      actor?: number,
    ) => {
      await look();
      const name = actor === undefined ? '' : (actors[actor % actors.length] ?? '');
      const columns = ['first_name', 'last_name', 'email', 'phone', 'role_id'];
      const cases = columns.map((column) => {
        const whens = [...changes].flatMap(([id, values]) =>
          [...values].flatMap(([field, value]) => {
            const part = assigned(field, value)
              .split(', ')
              .find((one) => one.startsWith(`${column} = `));
            return part === undefined ? [] : [`when ${id} then ${part.slice(column.length + 3)}`];
          }),
        );
        return whens.length === 0 ? [] : [`${column} = case id ${whens.join(' ')} else ${column} end`];
      });
      await person.sql(`with said as materialized (select set_config('musterd.actor', ${quoted(name)}, true) as it)
        update mirror.users set ${cases.flat().join(', ')} from said where id in (${[...changes.keys()].join(', ')}) and it is not null`);
      const names = [person.role, ...(name === '' ? [] : [name])];
      for (const [user, values] of changes)
        for (const [field, value] of values) model.edited(names, keyOf({ user, field }), value);
    };
    const editOne = (person: Person, key: string, value: string, actor?: number) => {
      const [user, field] = key.split(' ') as [string, Field];
      return edit(person, new Map([[Number(user), new Map([[field, value]])]]), actor);
    };

    const decide = async (step: Extract<Step, { kind: 'decide' }>): Promise<readonly string[]> => {
      await look();
      const waiting = rows.filter(({ hash, decision }) => hash !== '' && decision === '');
      const current = [...new Set(waiting.map(({ hash }) => hash))];
      const batch = step.batch ?? pickFrom(step.isStale ? hashes : current, step.pick);
      if (batch === undefined) return [];
      const person = people[step.who];
      const name = step.actor === undefined ? '' : (actors[step.actor % actors.length] ?? '');
      const mine = rows.filter(({ hash }) => hash === batch);
      const chosen = mine.filter((_, place) => (step.mask >> (place % 8)) % 2 === 1);
      const only =
        step.only === 'users'
          ? `, only_users => array[${chosen.map(({ user }) => user).join(', ')}]::bigint[]`
          : `, only_edits => array[${chosen.map(({ edit: id }) => id || '0').join(', ')}]::bigint[]`;
      const who: Somebody = {
        names: [person.role, ...(name === '' ? [] : [name])],
        mayEdit: editors.some((editor) => editor === person),
      };
      const revert = step.verb === 'reject' ? `, revert => ${step.isReverted}` : '';
      const decided = await person
        .sql(`with said as materialized (select set_config('musterd.actor', ${quoted(name)}, true) as it)
          select d.user_id, d.field, d.outcome from said, lateral sync.${step.verb}(case when it is not null then ${quoted(batch)} end
            ${step.only === 'all' ? '' : only}${revert}, reason => 'a test') d`)
        .catch(ifRefused);
      for (const [user, field, outcome] of decided) {
        say(`  ${user} ${field} in ${batch}: ${outcome}`);
        const key = keyOf({ user: Number(user), field: field as Field });
        if (outcome === 'approved' && !model.agreed(who, key, batch))
          wrong.push(`${person.role} ${name} could approve ${key} in ${batch}`);
        if (step.verb === 'reject' && (outcome === 'rejected' || outcome === 'on its way')) {
          const given = model.edits().get(key);
          if (step.isReverted && outcome === 'rejected') model.edits().delete(key);
          else if (given !== undefined) given.isRejected = true;
        }
      }
      return decided.flatMap(([user, field, outcome]) =>
        outcome === 'approved' ? [`${user} ${field}`] : [],
      );
    };

    const decideOne = async (step: Extract<Step, { kind: 'resolve' }>) => {
      await look();
      const row = pickFrom(
        rows.filter(({ reason, edit: id }) => reason !== '' && id !== ''),
        step.pick,
      );
      if (row === undefined) return;
      const key = keyOf(row);
      const field = row.field === 'role_id' ? 'roleId' : row.field;
      const typed = (text: string) => {
        const [one = '', two = ''] = text.split('|');
        if (field === 'name') return { first: one, last: two };
        return field === 'roleId' ? BigInt(text) : text;
      };
      const value = valueAt(row.field, ids.indexOf(row.user), step.value);
      const take: WinningValue = step.take === 'value' ? { value: typed(value) } : step.take;
      const earlier = [...(numbers.get(key) ?? [])].find((one) => one !== row.edit);
      const named = step.seen === 'stale' ? earlier : row.edit;
      if (named === undefined) return;
      const seen: SeenField =
        step.seen === 'value'
          ? { kind: 'value', value: typed(row.mirror) }
          : { kind: 'edit', edit: BigInt(named) };
      const actor = actors[step.actor % actors.length] ?? '';
      const setup = {
        config,
        log: silent,
        mirror: {
          db,
          url: team.url,
          readingUrl: async () => team.url,
          reach: { url: '', psql: '', stays: true },
          close: async () => {},
        },
      };
      const given = { field, take, seen, why: 'a test', actor } as const;
      const done = await resolve(setup, String(row.user), given).catch((error: unknown) => {
        if (error instanceof MusterdError && error.code === 'usage') return undefined;
        throw error;
      });
      if (done === undefined) return;
      if (named !== row.edit) wrong.push(`${key} was resolved as edit ${named}, and it is ${row.edit}`);
      if (take === 'service') model.edits().delete(key);
      else if (take === 'mirror' || value === row.mirror) {
        if (!model.agreed({ names: [actor], mayEdit: true }, key))
          wrong.push(`${actor} could resolve ${key}`);
      } else {
        const now = (await readRows()).find((one) => keyOf(one) === key);
        model.edited([owner, actor], key, value, now?.base ?? '');
      }
    };

    const changeService = (place: number, field: Field, value: string) => {
      const [first, last] = value.split('|');
      const change = {
        name: { first, last },
        email: { email: value },
        phone: { phone: value },
        role_id: { roleId: Number(value) },
      };
      emulator.team.editUser(userAt(place), change[field] as Partial<UserRecord>);
    };
    const onService = (user: number, field: Field) => {
      const { first, last, email, phone, roleId } = emulator.team.user(user);
      return { name: `${first}|${last}`, email: email ?? '', phone: phone ?? '', role_id: String(roleId) }[
        field
      ];
    };

    const act = async (step: Step): Promise<void> => {
      if (step.kind !== 'run') say(step);
      switch (step.kind) {
        case 'edit': {
          const values = new Map([[step.field, valueAt(step.field, step.at, step.value)]]);
          if (step.also !== undefined) values.set(step.also, valueAt(step.also, step.at, step.value));
          await edit(editors[step.who] ?? people.bob, new Map([[userAt(step.at), values]]), step.actor);
          return;
        }
        case 'bulk': {
          const places = ids.map((_, place) => place).filter((place) => place < step.users);
          const changes = places.map(
            (place) =>
              [
                userAt(place),
                new Map([[step.field, valueAt(step.field, place, place === step.bad ? 4 : step.value)]]),
              ] as const,
          );
          await edit(editors[step.who] ?? people.bob, new Map(changes), step.actor);
          return;
        }
        case 'withdraw': {
          await look();
          const key = pickFrom(lasting(), step.pick);
          const row = key === undefined ? undefined : rowOf(key);
          if (key === undefined || row === undefined) return;
          const person = editors[step.who] ?? people.bob;
          await editOne(person, key, row.base);
          if (step.isSetAgain) await editOne(person, key, row.mirror, step.actor);
          return;
        }
        case 'past': {
          await look();
          const key = keyOf({ user: userAt(step.at), field: step.field });
          const value = valueAt(step.field, step.at, step.value);
          if (past.has(key) || rowOf(key)?.isOpen === true) return;
          past.add(key);
          const how =
            step.how === 'owner'
              ? `set_config('musterd.writing', 'on', true)`
              : `set_config('session_replication_role', 'replica', true)`;
          await sql(
            `begin; select ${how}; update mirror.users set ${assigned(step.field, value)} where id = ${userAt(step.at)}; commit`,
          );
          model.edited([], key, value);
          return;
        }
        case 'decide':
          await decide(step);
          return;
        case 'resolve':
          return await decideOne(step);
        case 'service':
          changeService(step.at, step.field, valueAt(step.field, step.at, step.value));
          return;
        case 'there and back': {
          const before = onService(userAt(step.at), step.field);
          changeService(step.at, step.field, valueAt(step.field, step.at, 3));
          if (step.isLookedAt) await run({ kind: 'run', fault: 'none', number: 0, aims: [] });
          changeService(step.at, step.field, before);
          return;
        }
        case 'login':
          emulator.team.editUser(userAt(step.at), {});
          return;
        case 'run':
          return await run(step);
        case 'keep': {
          await look();
          await kept.keep();
          const recall = model.copy();
          const [ofNumbers, ofPast] = [structuredClone(numbers), structuredClone(past)];
          putBack = async (isWhole) => {
            await kept.putBack(isWhole);
            recall();
            numbers.clear();
            for (const [key, all] of ofNumbers) numbers.set(key, new Set(all));
            past.clear();
            for (const key of ofPast) past.add(key);
          };
          return;
        }
        case 'put back':
          await putBack?.(step.isWhole);
          return;
        default:
          return step satisfies never;
      }
    };

    /** What the service is asked and shows, for the model. */
    const asked = async ({ path, body }: LoggedRequest) => {
      await look();
      if (path !== update) return;
      for (const { id, ...sent } of (body as { users: readonly Readonly<Record<string, string | number>>[] })
        .users) {
        const user = Number(id);
        sending.set(user, new Map());
        for (const field of keys) {
          const value =
            field === 'name'
              ? sent['first_name'] && `${sent['first_name']}|${sent['last_name']}`
              : sent[field];
          if (value === undefined) continue;
          const why = model.forbids(keyOf({ user, field }), String(value));
          say(`  sent: ${user} ${field} ${value}`);
          sending.get(user)?.set(keyOf({ user, field }), model.edits().get(keyOf({ user, field }))?.id);
          if (why !== undefined) wrong.push(`sent: ${why}`);
        }
        versions.set(user, versionOf(user));
      }
    };
    const versions = new Map<number, number>();
    /** The edits that the update under way has of each user. */
    const sending = new Map<number, Map<string, number | undefined>>();
    /** The later of the two times that the service shows: each is read from the clock by itself. */
    const versionOf = (id: number) => {
      const { updated, userUpdated } = emulator.team.user(id);
      return Math.max(updated.ms, userUpdated.ms);
    };
    const answered = (text: string, { path, body }: LoggedRequest) => {
      if (path === update)
        for (const { id } of (body as { users: readonly { id: number }[] }).users) {
          const now = versionOf(id);
          if (versions.get(id) !== now && fault !== 'none') model.lost(id);
        }
      const answer = JSON.parse(text) as { readonly memberships?: readonly Shown[] };
      for (const shown of answer.memberships ?? []) {
        const text = (value: unknown) =>
          typeof value === 'string' || typeof value === 'number' ? String(value) : '';
        const values = {
          name: text(shown.name).replace(' ', '|'),
          email: text(shown.email),
          phone: text(shown.phone),
          role_id: text(shown.role_id),
        };
        const user = Number(shown.id);
        model.answered(user, values);
        // A run that has seen another value holds it, also once the service has the one before again.
        const isAsAgreed = ({ field, agreed, value }: Edit) =>
          agreed === undefined || [agreed, value].includes(values[field]);
        for (const edit of model.edits().values())
          if (edit.user === user && !isAsAgreed(edit)) edit.isUnsure = true;
        // It was sent under what somebody agreed to, and answered to no effect: nobody agreed to another sending.
        for (const edit of path === update ? model.edits().values() : [])
          if (
            edit.agreed !== undefined &&
            sending.get(user)?.get(keyOf(edit)) === edit.id &&
            edit.value !== values[edit.field]
          )
            Object.assign(edit, { agreed: undefined, wasAgreed: false, isStopped: true });
      }
      return text;
    };

    const aim = ({ path, at, when, act: step }: Aim): (() => void) =>
      emulator[when](
        { path, at },
        async () => await act(step).catch((error: unknown) => void wrong.push(String(error))),
      );

    const faultFor = (step: Extract<Step, { kind: 'run' }>): (() => void) => {
      const at = 1 + (step.number % 2);
      const fails = () => {
        throw Object.assign(new Error('no answer'), { statusCode: 504 });
      };
      switch (step.fault) {
        case 'lost before':
          return emulator.before({ path: update, at }, fails);
        case 'lost after':
          return emulator.after({ path: update, at }, fails);
        case 'partial': {
          const skip = keys[step.number % 4] ?? 'email';
          return emulator.addFault({
            kind: 'partial-apply',
            keep: 50 + 50 * (step.number % 2),
            skip,
            path: update,
          });
        }
        case 'none':
        case 'killed at a statement':
        case 'killed at a request':
          return () => {};
        default:
          return step.fault satisfies never;
      }
    };

    /** Ends with the connections to the database: nothing of it can be written any more. */
    const runDoomed = async (step: Extract<Step, { kind: 'run' }>) => {
      const url = new URL(team.url);
      const stop = () => void proxy.close();
      const after = step.fault === 'killed at a statement' ? 30 + step.number : Number.POSITIVE_INFINITY;
      const proxy = await createPostgresProxy({ host: url.hostname, port: Number(url.port) }, after, stop);
      url.port = String(proxy.port);
      const doomed = createDatabase({ url: url.href, applicationName: 'doomed' });
      const cut =
        step.fault === 'killed at a request'
          ? emulator.before({ at: 1 + (step.number % 6) }, stop)
          : () => {};
      await runReconcile(doomed, config, 'reconcile', { log: silent, groups: groupsOf(step) }).catch(
        () => {},
      );
      cut();
      await doomed.close();
      await proxy.close();
    };
    const run = async (step: Extract<Step, { kind: 'run' }>): Promise<void> => {
      await look();
      say({ ...step, aims: step.aims.length });
      ({ fault } = step);
      const hooks = [...step.aims.map(aim), faultFor(step)];
      const isKilled = fault === 'killed at a statement' || fault === 'killed at a request';
      if (isKilled) await runDoomed(step);
      else await runReconcile(db, config, 'reconcile', { log: silent, groups: groupsOf(step) });
      for (const remove of hooks) remove();
      emulator.clearFaults();
      if (isKilled) {
        await gone();
        await sql('delete from sync.leases');
      } else if (step.group !== 'edits') past.clear();
      await look();
      for (const row of rows)
        if (row.mirror !== row.base || row.reason !== '')
          say(`  ${JSON.stringify(row)} ${JSON.stringify(model.edits().get(keyOf(row)))}`);
      fail(wrong);
    };
    const gone = async () => {
      for (;;) {
        const others = await sql(
          `select from pg_stat_activity where datname = current_database() and application_name = 'doomed'`,
        );
        if (others.length === 0) return;
      }
    };

    unhook.push(emulator.before({ path: '/v1/users/get', times: 'always' }, asked));
    unhook.push(emulator.before({ path: update, times: 'always' }, asked));
    for (const path of ['/v1/users/get', update])
      unhook.push(emulator.rewrite({ path, times: 'always' }, answered));
    try {
      for (const step of steps) {
        await act(step);
        fail(wrong);
      }
      const approval = {
        kind: 'decide',
        verb: 'approve',
        who: 'dora',
        isStale: false,
        pick: 0,
        only: 'all',
        mask: 0,
        isReverted: false,
      } as const;
      const calm = { kind: 'run', fault: 'none', number: 0, aims: [] } as const;
      for (const _ of [1, 2]) await run(calm);
      fail(await left(model, rows, 'after faults'));
      const passing: string[] = [];
      for (const batch of new Set(rows.filter(({ decision }) => decision === '').map(({ hash }) => hash)))
        if (batch !== '') passing.push(...(await decide({ ...approval, batch })));
      await run(calm);
      fail(
        rows
          .filter((row) => passing.includes(keyOf(row)) && (row.reason === 'review' || row.batch !== ''))
          .map((row) => `${keyOf(row)} waits in ${row.batch} although it was approved`),
      );
      fail(await left(model, rows, 'in the end'));
    } finally {
      for (const remove of unhook) remove();
      emulator.clearFaults();
      emulator.clearRequests();
    }
  }

  /** What may not be left once faults are over. */
  async function left(
    model: ReturnType<typeof createAgreement>,
    rows: readonly Row[],
    when: string,
  ): Promise<readonly string[]> {
    const lasting =
      await sql(`select e.user_id, e.field, coalesce(e.edited_by, '') as by, array_to_string(e.authors, ';') as authors,
      case when e.field = 'name' then (e.new_value ->> 'first') || '|' || (e.new_value ->> 'last') else e.new_value #>> '{}' end
      from sync.edits e where e.ended_at is null`);
    const known = new Map(
      lasting.map(([user, field, by = '', authors = '', value = '']) => [
        `${user} ${field}`,
        { by, value, authors: authors.split(';') },
      ]),
    );
    const pending = await sql(
      `select user_id, field, state from report.pending where state in ('waiting', 'sending', 'unknown')`,
    );
    const ended = await sql(`select h.user_id, h.field, h.reason from sync.held_fields h where not exists (
      select from sync.edits e where e.team_id = h.team_id and e.edit_id = h.edit_id and e.field = h.field and e.user_id = h.user_id and e.ended_at is null)`);
    const said = (what: string, all: readonly (readonly string[])[]) =>
      all.map((row) => `${what}: ${row.join(' ')}`);
    const mayGo = new Set([...model.edits()].flatMap(([key, edit]) => (model.mayGo(edit) ? [key] : [])));
    const isKnown = (key: string) => [...model.edits().keys()].some((one) => one === key);
    const wrong = [
      ...said('waits', pending),
      ...said('held without an edit', ended),
      ...[...model.edits()].flatMap(([key, edit]) => {
        const row = known.get(key);
        if (row === undefined) return [`the edit ${key} to ${edit.value} is not on record`];
        const missing = edit.authors.filter((author) => !row.authors.includes(author));
        const isSame = row.value === edit.value && row.by === edit.by && missing.length === 0;
        return isSame ? [] : [`${key} is on record as ${JSON.stringify(row)} and is ${JSON.stringify(edit)}`];
      }),
      ...[...known.keys()].flatMap((key) => (isKnown(key) ? [] : [`${key} is on record and no edit`])),
      ...rows.flatMap((row) => {
        const { first, last, email, phone, roleId } = emulator.team.user(row.user);
        const there = {
          name: `${first}|${last}`,
          email: email ?? '',
          phone: phone ?? '',
          role_id: String(roleId),
        }[row.field];
        const isHeld = row.reason !== '' && row.decision === '';
        if (row.mirror !== there && !isHeld)
          return [`${keyOf(row)}: ${row.mirror} here, ${there} there, and not held`];
        const waits = row.reason === 'review' || (row.reason === 'limit' && row.batch !== '');
        return mayGo.has(keyOf(row)) && waits
          ? [`${keyOf(row)}: ${row.mirror} may go, and waits as ${row.reason}`]
          : [];
      }),
    ];
    return wrong.map((one) => `${when}: ${one}`);
  }

  return {
    play,
    close: async () => {
      await team.close();
      await teams.close();
    },
  };
}

/** Somebody who decides about something that is not there, or is their own, is told so. */
function ifRefused(error: unknown): readonly (readonly unknown[])[] {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'P0002' || code === '22023') return [];
  throw error;
}
