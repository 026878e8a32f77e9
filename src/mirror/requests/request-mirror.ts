/** The requests of one team, as declared in `reconcile/ports.ts`. */
import type {
  OpenRequest,
  AnsweredRequest,
  RequestState,
  RequestToHold,
  ShownMessage,
} from '../../model/requests.ts';
import type { Database } from '../db/database.ts';
import type { LeasedWork } from '../team/lease.ts';
import type { RunOf } from '../users/users-write.ts';
import { readDueMessages, readRequests } from './requests-read.ts';
import { applyRequestResult, applyShown } from './apply-request.ts';
import {
  giveUpRequest,
  holdRequest,
  markRequestSent,
  markSentAgain,
  openRequest,
  passTime,
} from './requests-write.ts';

/** @param areThere whether any were not over when the run began */
export function createRequests(
  db: Database,
  run: RunOf,
  areThere: boolean,
  write: <R>(work: LeasedWork<R>) => Promise<R>,
) {
  const { teamId } = run;
  return {
    areThere: () => Promise.resolve(areThere),
    read: () => readRequests(db.kysely, teamId),
    passTime: () => write((tx) => passTime(tx, teamId)),
    readDue: (most: number) => readDueMessages(db.kysely, teamId, most),
    applyShown: (localId: string, found: ShownMessage | null) =>
      write((tx) => applyShown(tx, run, localId, found)),
    hold: (held: RequestToHold) => write((tx) => holdRequest(tx, run, held)),
    giveUp: (request: RequestState, detail: string) => write((tx) => giveUpRequest(tx, run, request, detail)),
    open: (request: RequestState) => write((tx) => openRequest(tx, run, request)),
    markSent: (request: RequestState, open: OpenRequest) =>
      write((tx) => markRequestSent(tx, teamId, request.localId, open)),
    markSentAgain: (open: OpenRequest) => write((tx) => markSentAgain(tx, open)),
    apply: (result: AnsweredRequest) => write((tx) => applyRequestResult(tx, run, result)),
  };
}
