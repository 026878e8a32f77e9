/** Carries out the plan for the users, except for the pushes. */
import { roleMove } from '../model/user-changes.ts';
import { emptyValues } from '../model/fields.ts';
import { decisionsOf, endedHolds, holdsOf, type UserPlan, type UserWrite } from '../model/user-plan.ts';
import { readable, type ServiceUser } from '../model/user.ts';
import type { Id } from '../model/id.ts';
import { type AbsenceSettings, judgeAbsences, readVerdicts, sayWithheld } from './missing-rows.ts';
import { observe, takeValues } from './merge/service-values.ts';
import { chunks } from './chunks.ts';
import { givenTwice, noteDeferred, type RunNotes } from './run-notes.ts';
import { type Look, staleOf } from './look.ts';
import type { RunContext, UsersPlan } from './plan-users.ts';
import type { MirrorPort, MirrorWriter } from './ports.ts';

export interface WritingContext extends RunContext {
  readonly mirror: MirrorPort & MirrorWriter;
  /** The number of users, set only if no side has changed since a run found them equal (`runs/sync/unchanged.ts`). */
  readonly unchanged?: number | undefined;
  /** Called with the number of users that were read, if no user needed a change. */
  readonly onAgreed?: (shown: number) => void;
}

/** Rows per transaction: small enough not to block editors for long, large enough to need few statements. */
const usersPerTransaction = 5000;

/** The rows to write for a new user. They equal those that `planUser` would plan, because a new user has no edits. */
export function takeNew(service: ServiceUser, role: string | null): UserWrite {
  const values = takeValues(service, emptyValues);
  const joined = readable(service.name) ?? '';
  return {
    id: service.id,
    expected: null,
    mirror: { ...values, split: 'guessed' },
    observed: observe(service, role, joined),
    base: { ...values, joined },
  };
}

/** Returns the ids sorted, because an insert at the end of an index costs half as much as one in the middle. */
function inOrder(ids: readonly Id[]): readonly Id[] {
  const isSo = ids.every((id, at) => at === 0 || (ids[at - 1] ?? id) < id);
  return isSo ? ids : [...BigInt64Array.from(ids).sort()];
}

/** Starts the work on an item while the previous item is still worked on, so that rows are gathered during a write. */
async function overlapping<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const underWay: Promise<void>[] = [];
  try {
    for (const item of items) {
      const mine = work(item);
      // A rejection is thrown by an `await` below.
      mine.catch(() => {});
      underWay.push(mine);
      await underWay.at(-2);
    }
    await underWay.at(-1);
  } finally {
    await Promise.allSettled(underWay);
  }
}

/** Yields the writes of new users one by one, to keep memory low. */
function* takeEach(ids: readonly Id[], { roster: { users }, roles }: Pick<Look, 'roster' | 'roles'>) {
  for (const id of ids) {
    const user = users.get(id);
    if (user !== undefined) yield takeNew(user, roles.get(id) ?? null);
  }
}

/**
 * Writes the service's changes to the mirror, and adds the users that are new to the mirror. A row that an editor has
 * locked is skipped until the next run.
 * @returns the users whose rows were skipped
 */
export async function applyPulls(
  { mirror, notes }: WritingContext,
  seen: Pick<Look, 'unknown' | 'roster' | 'roles'>,
  plans: readonly UserPlan[],
): Promise<ReadonlySet<Id>> {
  const todo = plans.filter(
    (plan) =>
      plan.write !== null ||
      holdsOf(plan).length > 0 ||
      endedHolds(plan).length > 0 ||
      plan.case === 'merge' ||
      plan.case === 'unresolved' ||
      plan.case === 'forget',
  );
  const { unknown } = seen;
  const deferred = new Set<Id>();
  let done = 0;
  const note = (written: Iterable<Id>, count: number) => {
    for (const id of written) deferred.add(id);
    done += count;
    notes.event({ kind: 'progress', step: 'users', done, total: todo.length + unknown.length });
  };
  for (const chunk of chunks(todo, usersPerTransaction)) note(await mirror.applyUsers(chunk), chunk.length);
  await overlapping(chunks(inOrder(unknown), usersPerTransaction), async (chunk) =>
    note(await mirror.takeUsers(takeEach(chunk, seen)), chunk.length),
  );
  notes.count('adopted', unknown.filter((id) => !deferred.has(id)).length);
  noteDeferred(notes, deferred.size);
  countPlans(
    plans.filter(({ id }) => !deferred.has(id)),
    notes,
  );
  return deferred;
}

/** Records rows that could not be used, ids that came twice, and users who came with an older version than before. */
export async function applyOddities({ mirror }: WritingContext, seen: Look): Promise<void> {
  const { rejected, repeated } = seen.roster;
  const twice = [...repeated.keys()].map((id) => givenTwice('users', id));
  await mirror.applyOddities(seen.isWhole ? [...rejected, ...twice] : null, staleOf(seen));
}

export function countPlans(plans: readonly UserPlan[], notes: RunNotes): void {
  for (const plan of plans) {
    if (plan.case === 'adopt') notes.count('adopted');
    if (plan.case === 'return') notes.count('returned');
    notes.count('pulled', decisionsOf(plan, 'pull').length + (roleMove(plan.write) === undefined ? 0 : 1));
    notes.count('settled', decisionsOf(plan, 'settle').length);
    notes.count('held', holdsOf(plan).length);
  }
}

/** Reports the edited fields that this run leaves for a later run, and which run they wait for. */
export function notePostponed(plans: readonly UserPlan[], notes: RunNotes): void {
  const waits = plans.flatMap((plan) => decisionsOf(plan, 'wait').map(([, { until }]) => until));
  const next = waits.filter((until) => until === 'next').length;
  const whole = waits.filter((until) => until === 'whole').length;
  notes.count('postponed', next);
  if (next > 0)
    notes.warn(
      `${next} edited fields wait for the next run: first, this run must promote another administrator, or another user must give up an address`,
    );
  if (whole > 0)
    notes.warn(
      `${whole} edited fields wait for a run that reads all users: no administrator would be left among the users that this run looked up`,
    );
}

/** Marks users as gone if neither team list nor lookups show them, and the service refused none of their addresses. */
export async function applyUserAbsences(
  places: WritingContext,
  { look: { roster }, absent: all }: UsersPlan,
  settings: AbsenceSettings,
): Promise<void> {
  const { mirror, notes } = places;
  if (roster.rejected.length > 0) return;
  const absent = all.filter(({ id }) => !roster.unproven.has(id));
  const population = absent.length === 0 ? 0 : (await mirror.readGuardHistory()).population;
  const verdicts = await readVerdicts('users', absent.length, mirror);
  const unproven = all.length - absent.length;
  if (unproven > 0)
    notes.warn(
      `${unproven} users are missing, but not marked as gone: the service does not accept one of their addresses`,
    );
  const { due, withheld } = judgeAbsences('users', { absent, population }, settings, verdicts);
  if (withheld !== null) notes.partial(sayWithheld('users', withheld));
  const missing = absent.map(({ id }) => id);
  const decision = { missing, gone: due, found: [], lost: [], withheld };
  const locked = await mirror.applyAbsences('users', decision);
  const gone = due.length - locked.length;
  notes.count('missing', missing.length - gone);
  notes.count('gone', gone);
  if (locked.length > 0) notes.partial(`${locked.length} users who left were being edited and wait`);
}
