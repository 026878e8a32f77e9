/** What every run begins and ends with: lease, service, record, notes. What it does is handed in. */
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import { writeCredentials } from '../mirror/credentials.ts';
import type { Database } from '../mirror/database.ts';
import { type Lease, takeLease } from '../mirror/lease.ts';
import { createMirror, createMirrorReader } from '../mirror/mirror.ts';
import { checkTeam, pinTeam } from '../mirror/pinned-teams.ts';
import { writeLesson } from '../mirror/rate-limits.ts';
import { beginRun, finishRun, noteTeam } from '../mirror/runs.ts';
import type { Id } from '../model/id.ts';
import type { RunGroup, RunOutcome } from '../model/run-group.ts';
import type { Team } from '../model/team.ts';
import type { WritingContext } from '../reconcile/apply-users.ts';
import type { RunContext } from '../reconcile/plan-users.ts';
import { createRunNotes, type RunEvent, type RunNotes } from '../reconcile/run-notes.ts';
import type { Client } from '../service/client.ts';
import type { ServiceEvent } from '../service/event.ts';
import { logRunEvent } from './log-events.ts';
import { createService, credentialUses, requireSchema, requireService, sharePace } from './open.ts';

/** Who looks on while a run goes. */
export interface Watch {
  readonly log: Log;
  /** Progress of the run, for a terminal. */
  readonly onEvent?: (event: RunEvent) => void;
  /** A request to stop. */
  readonly signal?: AbortSignal;
  /** How long to wait for another run of the team to end; not at all when left out. */
  readonly waitMs?: number;
  /** Told once for whom it waits. */
  readonly onWait?: (holder: string) => void;
  /** The run is on record: from now on its end will be, too. */
  readonly onBegun?: () => void;
  /** Told of each request, retry and pause. */
  readonly onServiceEvent?: (event: ServiceEvent) => void;
}

/** What a run came to. */
export interface RunReport {
  readonly team: { readonly id: Id; readonly name: string | null };
  readonly runId: bigint;
  readonly groups: readonly RunGroup[];
  readonly outcome: RunOutcome;
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
  /** What the guard refused; pushes wait for an approval. */
  readonly refusal: RunNotes['refusal'];
  readonly counts: RunNotes['counts'];
  /** Held fields that wait for a person. */
  readonly held: number;
  /** The same, and the users who wait in batches; at least 1 where anything was refused. */
  readonly waiting: number;
  readonly requests: number;
  readonly durationMs: number;
}

/** Which run of which team. */
export interface RunKind {
  readonly config: Config;
  readonly command: 'reconcile' | 'daemon' | 'resync';
  readonly groups: readonly RunGroup[];
  /** Of the client: one that only reads refuses to write. */
  readonly mode: 'read-only' | 'read-write';
}

type Work<Result> = (context: WritingContext, team: Team) => Promise<Result>;

function createLoggedNotes(log: Log, onEvent: Watch['onEvent']): RunNotes {
  return createRunNotes((event) => {
    logRunEvent(log, event);
    onEvent?.(event);
  });
}

/**
 * One run that may write: under the team's lease and on record, however it ends.
 * @throws what ended it early, after that is on record; MusterdError `lease-held`, and nothing is on record
 */
export async function withRun<Result>(
  db: Database,
  kind: RunKind,
  watch: Watch,
  work: Work<Result>,
): Promise<{ readonly report: RunReport; readonly result: Result }> {
  const { config } = kind;
  const log = watch.log.child({ team: config.team });
  await requireService(config, log);
  const { waitMs = 0, signal, onWait } = watch;
  const { ttlMs } = config.lease;
  const lease = await takeLease(db, config.team, { ttlMs, waitMs, signal, onWait }).catch(
    (error: unknown) => {
      log.warn({ err: error }, 'run not started');
      throw error;
    },
  );
  try {
    return await runUnderLease(db, lease, kind, { ...watch, log }, work);
  } finally {
    // A lease that cannot be given back expires, and a dead holder on this host is seen at once.
    await lease.release().catch((error: unknown) => log.warn({ err: error }, 'lease not given back'));
  }
}

async function runUnderLease<Result>(
  db: Database,
  lease: Lease,
  kind: RunKind,
  watch: Watch,
  work: Work<Result>,
): Promise<{ readonly report: RunReport; readonly result: Result }> {
  const { config, command, groups, mode } = kind;
  const runId = await beginRun(db, lease, command, groups);
  watch.onBegun?.();
  const log = watch.log.child({ run: String(runId) });
  const notes = createLoggedNotes(log, watch.onEvent);
  const record = createRecord(db, { runId, groups, log, notes });
  let service: Client | undefined;
  try {
    service = createService(config, mode, {
      signal: watch.signal,
      pace: await sharePace(db, config),
      onServiceEvent: (event) => {
        record.onServiceEvent(event);
        watch.onServiceEvent?.(event);
      },
      log,
    });
    log.info({ groups }, 'run started');
    const team = await service.team();
    await pinTeam(db, config.team, team.id);
    await noteTeam(db, runId, team.id);
    const mirror = createMirror(db, lease, team.id, runId);
    const context = { service, mirror, notes, monotonicMs: () => systemClock.monotonicMs() };
    const result = await work(context, team);
    const report = await record.end(team, await mirror.countWaiting());
    return { report, result };
  } catch (error) {
    await record.endEarly(error);
    throw error;
  } finally {
    if (service !== undefined) {
      await rememberService(db, config, service).catch((error: unknown) => {
        log.warn({ err: error }, 'what was learned of the service is not kept');
      });
      await service.close();
    }
  }
}

/** Keeps what the client learned for the next one. */
async function rememberService(db: Database, config: Config, service: Client): Promise<void> {
  await writeLesson(db, config.team, service.rateLesson());
  await writeCredentials(db, config.team, credentialUses(config, service));
}

interface Recorded {
  readonly runId: bigint;
  readonly groups: readonly RunGroup[];
  readonly log: Log;
  readonly notes: RunNotes;
}

/** The record of one run, and how it is closed. */
function createRecord(db: Database, { runId, groups, log, notes }: Recorded) {
  const startedMs = systemClock.monotonicMs();
  let requests = 0;
  const finish = async (outcome: RunOutcome, reasons: readonly string[], waiting: number) => {
    const { requestIds, longestPushMs } = notes;
    const counts = {
      ...notes.counts,
      ...(longestPushMs === null ? {} : { push_window_ms: longestPushMs }),
    };
    await finishRun(db, runId, { outcome, reasons, counts, waiting, requests, requestIds });
    const durationMs = Math.round(systemClock.monotonicMs() - startedMs);
    log.info({ outcome, counts, waiting, requests, durationMs }, 'run finished');
    return { outcome, reasons, waiting, counts, durationMs };
  };
  return {
    onServiceEvent: ({ kind }: ServiceEvent) => {
      if (kind === 'request') requests += 1;
    },
    end: async (
      { id, name }: Team,
      { held, inBatches }: { readonly held: number; readonly inBatches: number },
    ): Promise<RunReport> => {
      const { refusal, warnings } = notes;
      const outcome = outcomeOf(notes);
      const departures = refusal?.what === 'departures' ? refusal.users : 0;
      const waiting = Math.max(refusal === null ? 0 : 1, held + inBatches + departures);
      const ended = await finish(outcome, [...notes.reasons, ...(refusal?.reasons ?? [])], waiting);
      return { team: { id, name }, runId, groups, warnings, refusal, held, requests, ...ended };
    },
    endEarly: async (error: unknown) => {
      log.error({ err: error }, 'run failed');
      const stopped = error instanceof MusterdError && error.code === 'stopped';
      const reason = error instanceof Error ? error.message : String(error);
      const reasons = [...notes.reasons, reason];
      await finish(stopped ? 'partial' : 'failed', reasons, 0).catch((lost: unknown) => {
        log.error({ err: lost }, 'run not recorded');
      });
    },
  };
}

function outcomeOf({ refusal, reasons }: RunNotes): RunOutcome {
  if (refusal?.stopped === true) return 'refused';
  return reasons.length === 0 ? 'complete' : 'partial';
}

/**
 * The same without a lease and a record, for what only looks. Writes nothing on either side: the client refuses
 * to, and the mirror has no way to. Its requests take their places in the shared pace, as everybody's do.
 */
export async function withReading<Result>(
  db: Database,
  config: Config,
  watch: Watch,
  work: (context: RunContext & { readonly service: Client }, team: Team) => Promise<Result>,
): Promise<Result> {
  await requireSchema(db);
  const service = createService(config, 'read-only', { ...watch, pace: await sharePace(db, config) });
  try {
    const notes = createLoggedNotes(watch.log, watch.onEvent);
    const team = await service.team();
    await checkTeam(db.kysely, config.team, team.id);
    const mirror = createMirrorReader(db, team.id);
    return await work({ service, mirror, notes, monotonicMs: () => systemClock.monotonicMs() }, team);
  } finally {
    await service.close();
  }
}
