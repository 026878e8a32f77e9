/** The composition root: builds the places, hands them to reconcile, closes all in reverse. */
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import type { Log } from '../log.ts';
import { logRunEvent } from './log-events.ts';
import { writeCredentials } from '../mirror/credentials.ts';
import type { Database } from '../mirror/database.ts';
import { type Lease, takeLease } from '../mirror/lease.ts';
import { createMirror, createMirrorReader } from '../mirror/mirror.ts';
import { bucketOf, writeLesson } from '../mirror/rate-limits.ts';
import { beginRun, finishRun, noteTeam } from '../mirror/runs.ts';
import { checkTeam, pinTeam } from '../mirror/pinned-teams.ts';
import type { Id } from '../model/id.ts';
import { type RunGroup, type RunOutcome, scheduledGroups } from '../model/run-group.ts';
import type { Team } from '../model/team.ts';
import {
  createService,
  credentialUses,
  requireSchema,
  requireService,
  sharedPaceSettings,
  sharePace,
} from './open.ts';
import { createRunNotes, type RunNotes, type RunEvent } from '../reconcile/run-notes.ts';
import {
  type Planned,
  type PushCost,
  plan,
  type ReconcileSettings,
  reconcile,
} from '../reconcile/reconcile.ts';
import type { Client } from '../service/client.ts';
import type { ServiceEvent } from '../service/event.ts';

export interface Watch {
  readonly log: Log;
  /** Progress of the run, for a terminal. */
  readonly onEvent?: (event: RunEvent) => void;
  /** A request to stop. */
  readonly signal?: AbortSignal;
  /** How long to wait for another run of the team to end; not at all when left out. */
  readonly waitMs?: number;
  /** Told once for whom it waits. */
  readonly onWait?: (who: string) => void;
  /** What the run does; everything when left out. */
  readonly groups?: readonly RunGroup[];
  /** The run is on record: from now on its end will be, too. */
  readonly onBegun?: () => void;
  /** Told of each request, retry and pause. */
  readonly onServiceEvent?: (event: ServiceEvent) => void;
}

/** Ms for an update to leave after it was prepared, besides what the pace makes it wait for its turn. */
const sendDeadlineMs = 5_000;

export function reconcileSettings(config: Config): ReconcileSettings {
  const { push, pages, absence, policy, segments, guard, roles, service, rate } = config;
  const filters = { tags: config.scope.tags, contact_fields: config.scope.contactFields };
  return {
    push: { ...push, sendDeadlineMs: sendDeadlineMs + 60_000 / (rate.perMinute * rate.share) },
    pageSize: pages.size,
    absence,
    scope: { baseUrl: service.baseUrl ?? '', filters },
    policy,
    segments,
    guard: { ...guard, adminRoleIds: roles.admin.map(BigInt) },
  };
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
  /** The same, and the users of a refused plan; at least 1 where anything was refused. */
  readonly waiting: number;
  readonly requests: number;
  readonly durationMs: number;
}

/** Keeps what the client learned for the next one. */
async function rememberService(db: Database, config: Config, service: Client): Promise<void> {
  await writeLesson(db, config.team, service.rateLesson());
  await writeCredentials(db, config.team, credentialUses(config, service));
}

/** One complete two-way run: lease, record, reconcile, verdict. Throws what ended the run early. */
export async function runReconcile(
  db: Database,
  config: Config,
  command: 'reconcile' | 'daemon',
  watch: Watch,
): Promise<RunReport> {
  const log = watch.log.child({ team: config.team });
  const { ttlMs } = config.lease;
  const { waitMs = 0, signal, onWait } = watch;
  await requireService(config, log);
  const lease = await takeLease(db, config.team, { ttlMs, waitMs, signal, onWait }).catch(
    (error: unknown) => {
      log.warn({ err: error }, 'run not started');
      throw error;
    },
  );
  try {
    return await runUnderLease({ db, config, command, lease }, { ...watch, log });
  } finally {
    // A lease that cannot be given back expires, and a dead holder on this host is seen at once.
    await lease.release().catch((error: unknown) => log.warn({ err: error }, 'lease not given back'));
  }
}

interface Run {
  readonly db: Database;
  readonly config: Config;
  readonly command: 'reconcile' | 'daemon';
  readonly lease: Lease;
}

/** The record of one run, and how it is closed. */
function createRecord({ db, config }: Run, runId: bigint, groups: readonly RunGroup[], watch: Watch) {
  const startedMs = systemClock.monotonicMs();
  const log = watch.log.child({ run: String(runId) });
  const notes = createRunNotes((event) => {
    logRunEvent(log, event);
    watch.onEvent?.(event);
  });
  let requests = 0;
  return {
    log,
    notes,
    /** Opens the service; what it is asked is counted here. */
    openService: async () =>
      createService(config, 'read-write', {
        signal: watch.signal,
        pace: await sharePace(db, config),
        onServiceEvent: (event) => {
          if (event.kind === 'request') requests += 1;
          watch.onServiceEvent?.(event);
        },
        log,
      }),
    end: async (outcome: RunOutcome, reasons: readonly string[], waiting: number) => {
      const { requestIds, longestPushMs, warnings, refusal } = notes;
      const counts = {
        ...notes.counts,
        ...(longestPushMs === null ? {} : { push_window_ms: longestPushMs }),
      };
      await finishRun(db, runId, { outcome, reasons, counts, waiting, requests, requestIds });
      const durationMs = Math.round(systemClock.monotonicMs() - startedMs);
      log.info({ outcome, counts, waiting, requests, durationMs }, 'run finished');
      return { runId, groups, outcome, reasons, warnings, refusal, counts, waiting, requests, durationMs };
    },
  };
}

async function runUnderLease(run: Run, watch: Watch): Promise<RunReport> {
  const { db, config, command, lease } = run;
  const { groups = scheduledGroups } = watch;
  const runId = await beginRun(db, lease, command, groups);
  watch.onBegun?.();
  const { log, notes, openService, end } = createRecord(run, runId, groups, watch);
  let service: Client | undefined;
  try {
    service = await openService();
    log.info({ groups }, 'run started');
    const team = await service.team();
    await pinTeam(db, config.team, team.id);
    await noteTeam(db, runId, team.id);
    const mirror = createMirror(db, lease, team.id, runId);
    const places = { service, mirror, notes, monotonicMs: () => systemClock.monotonicMs() };
    await reconcile(places, team, reconcileSettings(config), groups);
    const { refusal, reasons } = notes;
    const outcome = refusal?.stopped === true ? 'refused' : reasons.length === 0 ? 'complete' : 'partial';
    const held = await mirror.countHeldFields();
    const waiting = refusal === null ? held : Math.max(1, held + refusal.users);
    const report = await end(outcome, [...reasons, ...(refusal?.reasons ?? [])], waiting);
    return { team: { id: team.id, name: team.name }, ...report, held };
  } catch (error) {
    log.error({ err: error }, 'run failed');
    const stopped = error instanceof MusterdError && error.code === 'stopped';
    const reason = error instanceof Error ? error.message : String(error);
    await end(stopped ? 'partial' : 'failed', [...notes.reasons, reason], 0).catch((lost: unknown) => {
      log.error({ err: lost }, 'run not recorded');
    });
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

export interface PlanReport extends Planned {
  readonly team: Team;
  readonly notes: RunNotes;
  /** What pushing takes: at this pace it takes that long, and longer where the service is slow. */
  readonly cost: PushCost & { readonly seconds: number; readonly perMinute: number };
}

/**
 * The same up to the plan. Writes nothing on either side: the service refuses, and the mirror has no way to.
 * Its requests take their places in the shared pace, as everybody's do.
 */
export async function runPlan(db: Database, config: Config, watch: Watch): Promise<PlanReport> {
  await requireSchema(db);
  const service = createService(config, 'read-only', { ...watch, pace: await sharePace(db, config) });
  try {
    const notes = createRunNotes((event) => {
      logRunEvent(watch.log, event);
      watch.onEvent?.(event);
    });
    const team = await service.team();
    await checkTeam(db.kysely, config.team, team.id);
    const mirror = createMirrorReader(db, team.id);
    const places = { service, mirror, notes, monotonicMs: () => systemClock.monotonicMs() };
    const planned = await plan(places, team, reconcileSettings(config));
    const { rate } = config;
    const { periodMs } = bucketOf(sharedPaceSettings(config));
    const seconds = Math.ceil((planned.cost.requests * periodMs) / 1_000);
    const cost = { ...planned.cost, seconds, perMinute: rate.perMinute * rate.share };
    return { team, ...planned, notes, cost };
  } finally {
    await service.close();
  }
}

/** Whether repeating the run as it is configured cannot help. */
export function isFinal(error: unknown): boolean {
  return error instanceof MusterdError && ['configuration', 'wrong-team', 'credentials'].includes(error.code);
}
