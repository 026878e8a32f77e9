/** Who goes with whom in an update, and how many requests that takes. */

import type { Id } from '../../model/id.ts';
import type { NameSafety } from '../../model/intent.ts';
import { readable, type ServiceUser, type UserPatch } from '../../model/user.ts';
import { chunks } from '../chunks.ts';
import type { SnapshotPort } from '../ports.ts';
import { countLookups } from '../read/roster.ts';
import { isNameless, isOpen, isSuspect } from './carry-name.ts';

/** What is to be sent of one user. */
export interface Pushable {
  readonly id: Id;
  readonly patch: UserPatch;
}

export interface Batch<P> {
  readonly plans: readonly P[];
  /** Sent to learn from it what an update without a name does to the name. */
  readonly isProbe: boolean;
  /** Of one who was sent before and never answered for. */
  readonly isTroubled: boolean;
  /** Whether no update of it can harm a name: each has one, or they are known to be kept. */
  readonly keepsNames?: boolean;
}

/** Batches that are read again at once, and then leave side by side. */
export const batchesAtOnce = 4;
/** As many as one lookup asks for. */
const usersAtOnce = 100;

/** What earlier pushes have taught. */
export interface PushLessons {
  readonly safety: NameSafety;
  /** Users who were sent before and never answered for. */
  readonly troubled: ReadonlySet<Id>;
}

export async function readLessons(mirror: SnapshotPort, plans: readonly Pushable[]): Promise<PushLessons> {
  if (plans.length === 0) return { safety: 'kept', troubled: new Set() };
  return {
    safety: plans.some(({ patch }) => isNameless(patch)) ? await mirror.readNameSafety() : 'kept',
    troubled: await mirror.readUnanswered(plans.map(({ id }) => id)),
  };
}

/**
 * Whoever was sent before and never answered for goes alone and last, so that one poisoned user costs nobody
 * else. The first update ever that leaves a name out goes alone and first, and so does the next one after it
 * seemed to harm a name: some deployments clear the name then, and where one is known to, the name goes along
 * (`carry-name.ts`).
 */
export function arrangeBatches<P extends Pushable>(
  plans: readonly P[],
  batchSize: number,
  { safety, troubled }: PushLessons,
): readonly Batch<P>[] {
  const first = isOpen(safety)
    ? plans.find((plan) => isNameless(plan.patch) && !troubled.has(plan.id) && !isSuspect(safety, plan.id))
    : undefined;
  const others = plans.filter((plan) => plan !== first && !troubled.has(plan.id));
  const alone = plans.filter(({ id }) => troubled.has(id));
  const known = { isProbe: false, isTroubled: false };
  return [
    ...(first === undefined ? [] : [{ plans: [first], isProbe: true, isTroubled: false }]),
    ...chunks(others, batchSize).map((some) => ({ ...known, plans: some })),
    ...alone.map((plan) => ({ ...known, plans: [plan], isTroubled: true })),
  ];
}

/** The batches that are read again next, and then leave; a probe goes alone, and so does whoever is troubled. */
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
 * The requests of these pushes where all goes well: batches are read again by address, and then each is sent. What
 * is refused, not answered for or found by no lookup takes more; what is held in the last moment takes less.
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
      .map(({ id }) => ({
        email: readable(users.get(id)?.email) ?? null,
        phone: readable(users.get(id)?.phone) ?? null,
      }));
    requests += countLookups(addresses);
    done += group.length;
  }
  return requests;
}
