import type { Id } from '../../model/id.ts';
import { type Scheduling, schedulingTopic } from '../../model/requests.ts';
import type { Queryable } from '../db/database.ts';
import { readLearned } from './learned.ts';

/** Reads what is known of how the team's deployment takes scheduled messages. */
export async function readScheduling(db: Queryable, teamId: Id): Promise<Scheduling> {
  return ((await readLearned(db, teamId, schedulingTopic))?.value ?? {}) as Scheduling;
}
