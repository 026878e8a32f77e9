/** Makes one call of the service for a direct command: it is sent once, and recorded if there is a mirror. */
import type { Config } from '../../config/config.ts';
import { MusterdError, ServiceError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Database, Transaction } from '../../mirror/db/database.ts';
import { closeCall, writeCall } from '../../mirror/runs/calls.ts';
import type { Lease } from '../../mirror/team/lease.ts';
import { checkTeam } from '../../mirror/team/pinned-teams.ts';
import type { CallOutcome, CallSubject } from '../../model/direct-call.ts';
import type { Id } from '../../model/id.ts';
import type { SendOptions } from '../../model/service-request.ts';
import type { Team } from '../../model/team.ts';
import type { ServiceClient } from '../../service/client.ts';
import { callService } from './call-service.ts';
import { actAs } from '../four-eyes.ts';

/** Everything that a direct command needs to send a request. */
export interface DirectCaller {
  readonly config: Config;
  readonly service: ServiceClient;
  /** `undefined` if no mirror is configured. */
  readonly db: Database | undefined;
  readonly team: Team;
  /** The person in whose name the call is recorded. */
  readonly actor: string | undefined;
}

export interface DirectCall<R> {
  readonly subject: CallSubject;
  /** The fields that are sent, for the ledger. */
  readonly sent: object;
  readonly before?: object | undefined;
  readonly lease?: Lease | undefined;
  readonly send: (options: SendOptions) => Promise<R>;
  /** Returns true if the service shows the effect. Called after an answer, or if the answer was lost. */
  readonly isShown?: () => Promise<boolean>;
}

export interface DirectResult<R> {
  readonly outcome: CallOutcome;
  readonly answer: R | undefined;
  /** The error that ended the call. */
  readonly error: unknown;
  readonly requestId: string | null;
  /** Why the ledger does not have the outcome; `null` if it has the outcome, or if there is no mirror. */
  readonly unrecorded: string | null;
}

/** @throws MusterdError `copy` if the mirror is a copy; `wrong-team` */
export async function withDirectCaller<R>(
  {
    config,
    log,
    signal,
    actor,
  }: { config: Config; log: Log; signal: AbortSignal; actor: string | undefined },
  work: (caller: DirectCaller) => Promise<R>,
): Promise<R> {
  return callService({ config, log, signal }, 'write', async (service, db) => {
    const team = await service.team();
    if (db !== undefined) await checkTeam(db.kysely, config.team, team.id);
    return work({ config, service, db, team, actor });
  });
}

/**
 * | How the call ended | Its outcome in the ledger |
 * |---|---|
 * | it was stopped, or no byte left | unsent |
 * | any 4xx except 408, which a proxy can send after it forwarded the request | refused |
 * | a 5xx, no answer, or an answer that is not what the interface says | unknown |
 */
export function outcomeOf(error: unknown): CallOutcome {
  if (!(error instanceof ServiceError)) return error instanceof MusterdError ? 'unsent' : 'unknown';
  const { phase, status = 0 } = error;
  if (phase === 'not-sent') return 'unsent';
  return phase === 'answered' && status >= 400 && status < 500 && status !== 408 ? 'refused' : 'unknown';
}

/** Sends the request once. The ledger gets it before it is sent, so a killed process leaves a true record. */
export async function sendOnce<R extends { readonly requestId: string | null }>(
  { config, db, team, actor }: DirectCaller,
  { subject, sent, before, lease, send, isShown }: DirectCall<R>,
): Promise<DirectResult<R>> {
  let changeId: Id | undefined;
  const write = async (tx: Transaction) => {
    await actAs(tx, config, actor);
    return writeCall(tx, { teamId: team.id, subject, sent, before: before ?? null });
  };
  const ended = await send({
    once: true,
    beforeSend: async () => {
      await lease?.check();
      if (db !== undefined) changeId ??= await db.transaction(write).catch(refuseUnrecorded);
    },
    atStart: () => lease?.require(),
  }).then(
    (answer) => ({ answer, error: undefined, outcome: 'answered' as const, requestId: answer.requestId }),
    (error: unknown) => ({
      answer: undefined,
      error,
      outcome: outcomeOf(error),
      requestId: error instanceof ServiceError ? (error.requestId ?? null) : null,
    }),
  );
  const mayShow = ended.outcome === 'answered' || ended.outcome === 'unknown';
  const shown = mayShow && isShown !== undefined ? await isShown() : undefined;
  const outcome = shown === true ? 'confirmed' : ended.outcome;
  const unrecorded =
    db === undefined || changeId === undefined
      ? null
      : await recordEnd(db, changeId, subject, { outcome, requestId: ended.requestId });
  return { ...ended, outcome, unrecorded };
}

function refuseUnrecorded(cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause);
  throw new MusterdError('mirror', `Nothing was sent: the ledger cannot be written (${why})`, {
    hint: 'Give the login the rights of musterd (docs/operations.md), or unset DATABASE_URL to send without a record.',
    cause,
  });
}

/** @returns the reason why the end could not be recorded; `null` if it was */
async function recordEnd(
  db: Database,
  changeId: Id,
  subject: CallSubject,
  end: { readonly outcome: CallOutcome; readonly requestId: string | null },
): Promise<string | null> {
  return await db
    .transaction((tx) => closeCall(tx, changeId, subject, end))
    .then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
}
