/** Divides pushes into requests, and counts the requests. */

import type { Id } from '../../model/id.ts';
import type { NameSafety } from '../../model/intent.ts';
import { readable, type ServiceUser, type UserPatch } from '../../model/user.ts';
import { chunks } from '../chunks.ts';
import type { SnapshotPort } from '../ports.ts';
import { countLookups } from '../read/ask.ts';
import { isNameless } from './carry-name.ts';

/** The push of one user. */
export interface Pushable {
  readonly id: Id;
  readonly patch: UserPatch;
}

export interface Batch<P> {
  readonly plans: readonly P[];
  /** Whether it is sent to learn what an update without a name does to the name. */
  readonly isProbe: boolean;
  /** Whether an earlier push of this user got no answer. */
  readonly isTroubled: boolean;
  /** Whether no update can harm a name: each contains one, or the service is known to keep names. */
  readonly keepsNames: boolean;
}

/** Number of batches that share one read, and then leave in parallel. */
export const batchesAtOnce = 4;
/** The number of users that one lookup can return. */
const usersAtOnce = 100;

/** The lessons of earlier pushes. */
export interface PushLessons {
  readonly safety: NameSafety;
  /** Users whose earlier push got no answer. */
  readonly troubled: ReadonlySet<Id>;
}

export async function readLessons(mirror: SnapshotPort, plans: readonly Pushable[]): Promise<PushLessons> {
  if (plans.length === 0) return { safety: 'keeps', troubled: new Set() };
  return {
    safety: plans.some(({ patch }) => isNameless(patch)) ? await mirror.readNameSafety() : 'keeps',
    troubled: await mirror.readUnanswered(plans.map(({ id }) => id)),
  };
}

/**
 * A user whose earlier push got no answer goes alone and last, so that one bad user does not affect others. The first
 * update without a name goes alone and first: some deployments clear the name then. If one is known to do so, updates
 * carry the name (`carry-name.ts`).
 *
 * @param choose picks the one without a name that goes first; `undefined` if none may
 */
export function arrangeBatches<P extends Pushable>(
  plans: readonly P[],
  batchSize: number,
  { safety, troubled }: PushLessons,
  choose: (probes: readonly P[]) => P | undefined = ([one]) => one,
): readonly Batch<P>[] {
  const probes =
    safety === 'unknown' ? plans.filter((plan) => isNameless(plan.patch) && !troubled.has(plan.id)) : [];
  const first = choose(probes);
  const others = plans.filter((plan) => plan !== first && !troubled.has(plan.id));
  const alone = plans.filter(({ id }) => troubled.has(id));
  const common = { isProbe: false, isTroubled: false, keepsNames: safety === 'keeps' };
  return [
    ...(first === undefined ? [] : [{ ...common, plans: [first], isProbe: true }]),
    ...chunks(others, batchSize).map((some) => ({ ...common, plans: some })),
    ...alone.map((plan) => ({ ...common, plans: [plan], isTroubled: true })),
  ];
}

/** The batches to read and send next. A probe goes alone, and so does a user without an answer. */
export function takeGroup<P>(batches: readonly Batch<P>[], most: number): readonly Batch<P>[] {
  const next = batches.slice(0, Math.min(most, batchesAtOnce));
  let users = 0;
  const end = next.findIndex(({ plans, isProbe, isTroubled }) => {
    users += plans.length;
    return isProbe || isTroubled || users > usersAtOnce;
  });
  return next.slice(0, end < 0 ? next.length : Math.max(1, end));
}

/**
 * The number of requests if all goes well: batches are read again by address, then each is sent. It takes more
 * if users are refused, get no answer or are not found; fewer if they are held at the last moment.
 */
export function countRequests(
  batches: readonly Batch<Pushable>[],
  users: ReadonlyMap<Id, ServiceUser>,
  updatesAtOnce: number,
): number {
  let requests = batches.length;
  for (let done = 0; done < batches.length; ) {
    const group = takeGroup(batches.slice(done), done > 0 ? updatesAtOnce : 1);
    const addresses = group
      .flatMap(({ plans }) => plans)
      .map(({ id, patch }) => ({
        email: readable(users.get(id)?.email) ?? null,
        phone: readable(users.get(id)?.phone) ?? null,
        sent: patch,
      }));
    requests += countLookups(addresses);
    done += group.length;
  }
  return requests;
}
