/** Who goes with whom in an update, and how many requests that takes. */

import type { Id } from '../../model/id.ts';
import type { NameSafety } from '../../model/intent.ts';
import { readable, type ServiceUser, type UserPatch } from '../../model/user.ts';
import { chunks } from '../chunks.ts';
import type { MirrorPort } from '../ports.ts';
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
  /** Whether no update of it can harm a name: each has one, or they are known to be kept. */
  readonly keepsNames?: boolean;
}

/** What earlier pushes have taught. */
export interface PushLessons {
  readonly safety: NameSafety;
  /** Users who were sent before and never answered for. */
  readonly troubled: ReadonlySet<Id>;
}

export async function readLessons(mirror: MirrorPort, plans: readonly Pushable[]): Promise<PushLessons> {
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
  const alone = plans.filter(({ id }) => troubled.has(id)).map((plan) => [plan]);
  return [
    ...(first === undefined ? [] : [{ plans: [first], isProbe: true }]),
    ...[...chunks(others, batchSize), ...alone].map((some) => ({ plans: some, isProbe: false })),
  ];
}

/**
 * The requests of these pushes where all goes well: each batch is read again by address, and then sent. What
 * is refused, not answered for or found by no lookup takes more; what is held in the last moment takes less.
 */
export function countRequests(
  batches: readonly Batch<Pushable>[],
  users: ReadonlyMap<Id, ServiceUser>,
): number {
  const reads = batches.map(({ plans }) =>
    countLookups(
      plans.map(({ id }) => ({
        email: readable(users.get(id)?.email) ?? null,
        phone: readable(users.get(id)?.phone) ?? null,
      })),
    ),
  );
  return reads.reduce((sum, ofBatch) => sum + ofBatch + 1, 0);
}
