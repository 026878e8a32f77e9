/** Divides pushes into requests, and counts the requests. */

import type { Id } from '../../model/id.ts';
import type { NameSafety } from '../../model/intent.ts';
import { readable, type ServiceUser, type UserPatch } from '../../model/user.ts';
import { chunks } from '../chunks.ts';
import type { MirrorPort } from '../ports.ts';
import { countLookups } from '../read/ask.ts';
import { isNameless } from './carry-name.ts';

/** The values to push to one user. */
export interface Pushable {
  readonly id: Id;
  readonly patch: UserPatch;
}

export interface PushLessons {
  readonly safety: NameSafety;
  /** Users whose earlier push got no answer. */
  readonly troubled: ReadonlySet<Id>;
}

export async function readLessons(mirror: MirrorPort, plans: readonly Pushable[]): Promise<PushLessons> {
  if (plans.length === 0) return { safety: 'keeps', troubled: new Set() };
  const pushes = plans.map(({ id, patch }) => ({ userId: id, sent: patch, changeId: 0n }));
  return {
    safety: plans.some(({ patch }) => isNameless(patch)) ? await mirror.readNameSafety() : 'keeps',
    troubled: (await mirror.readEarlier(pushes)).unanswered,
  };
}

/**
 * Divides pushes into requests. A user whose earlier push got no answer gets a request alone at the end, so that a bad
 * user does not affect other users. Until it is known if an update without a name keeps the name, the first request tries
 * one such update alone.
 * @param prefer chooses this first update among the updates that have no name; by default, any of these is first
 */
export function arrangeBatches<P extends Pushable>(
  plans: readonly P[],
  batchSize: number,
  { safety, troubled }: PushLessons,
  prefer?: (plan: P) => boolean,
): readonly (readonly P[])[] {
  const calm = plans.filter(({ id }) => !troubled.has(id));
  const nameless = safety === 'unknown' ? calm.filter(({ patch }) => isNameless(patch)) : [];
  const preferred = prefer === undefined ? undefined : nameless.find(prefer);
  const first = preferred ?? nameless[0];
  return [
    ...(first === undefined ? [] : [[first]]),
    ...chunks(
      calm.filter((plan) => plan !== first),
      batchSize,
    ),
    ...plans.filter(({ id }) => troubled.has(id)).map((plan) => [plan]),
  ];
}

/**
 * The number of requests if all goes well: each batch is read again by address, then sent. If users are refused, missing
 * or left without an answer, more are needed. If users are held at the last moment, fewer are needed.
 */
export function countRequests(
  batches: readonly (readonly Pushable[])[],
  users: ReadonlyMap<Id, ServiceUser>,
): number {
  return batches.reduce((requests, batch) => {
    const addresses = batch.map(({ id, patch }) => ({
      email: readable(users.get(id)?.email) ?? null,
      phone: readable(users.get(id)?.phone) ?? null,
      sent: patch,
    }));
    return requests + 1 + countLookups(addresses);
  }, 0);
}
