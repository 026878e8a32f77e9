/** The composition root: builds the places, hands them to reconcile, closes all in reverse. */
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { MusterdError } from './errors.ts';
import type { Log } from './log.ts';
import { logRunEvent } from './log-events.ts';
import { writeCredentials } from './mirror/credentials.ts';
import type { Database } from './mirror/database.ts';
import { takeLease } from './mirror/lease.ts';
import { createMirror, createMirrorReader } from './mirror/mirror.ts';
import { writeLesson } from './mirror/rate-limits.ts';
import { beginRun, finishRun, noteTeam, type RunOutcome } from './mirror/runs.ts';
import { checkTeam, pinTeam } from './mirror/teams.ts';
import type { Id } from './model/id.ts';
import type { Team } from './model/team.ts';
import { createService, credentialUses, requireSchema, sharePace } from './places.ts';
import { createFindings, type Findings, type RunEvent } from './reconcile/findings.ts';
import {
  type ListingsPlan,
  plan,
  type ReconcileSettings,
  reconcile,
  type UsersPlan,
} from './reconcile/reconcile.ts';
import type { Client } from './service/client.ts';

export interface Watch {
  readonly log: Log;
  /** Progress of the run, for a terminal. */
  readonly onEvent?: (event: RunEvent) => void;
  /** A request to stop. */
  readonly signal?: AbortSignal;
}

export function reconcileSettings(config: Config): ReconcileSettings {
  const { push, pages, absence, policy, segments } = config;
  return { push, pageSize: pages.size, absence, policy, segments };
}

/** What a run came to. */
export interface RunReport {
  readonly team: { readonly id: Id; readonly name: string | null };
  readonly runId: bigint;
  readonly outcome: RunOutcome;
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
  readonly counts: Findings['counts'];
  /** Fields that wait for a person. */
  readonly waiting: number;
  readonly requests: number;
  readonly durationMs: number;
}

/** A client that writes, at the pace that all processes on this database share. */
async function openService(
  db: Database<unknown>,
  config: Config,
  watch: Watch,
  onRequest: () => void,
): Promise<Client> {
  return createService(config, 'read-write', { ...watch, onRequest, pace: await sharePace(db, config) });
}

/** Keeps what the client learned for the next one. */
async function rememberService(db: Database<unknown>, config: Config, service: Client): Promise<void> {
  await writeLesson(db, config.team, service.rateLesson());
  await writeCredentials(db, config.team, credentialUses(config, service));
}

/** One complete two-way run: lease, record, reconcile, verdict. Throws what ended the run early. */
export async function runReconcile(
  db: Database<unknown>,
  config: Config,
  command: 'reconcile' | 'daemon',
  watch: Watch,
): Promise<RunReport> {
  const startedMs = systemClock.monotonicMs();
  let requests = 0;
  const lease = await takeLease(db, config.team, config.lease);
  const service = await openService(db, config, watch, () => {
    requests += 1;
  }).catch(async (error: unknown) => {
    await lease.release();
    throw error;
  });
  const runId = await beginRun(db, config.team, command);
  const log = watch.log.child({ run: String(runId), team: config.team });
  const findings = createFindings((event) => {
    logRunEvent(log, event);
    watch.onEvent?.(event);
  });
  let waiting = 0;
  const finish = (outcome: RunOutcome, reasons: readonly string[]) =>
    finishRun(db, runId, {
      outcome,
      reasons,
      counts: findings.counts,
      waiting,
      requests,
      requestIds: findings.requestIds,
    });
  try {
    log.info('run started');
    const team = await service.team();
    await pinTeam(db, config.team, team.id);
    await noteTeam(db, runId, team.id);
    const mirror = createMirror(db, lease, team.id, runId);
    await reconcile(
      { service, mirror, findings, monotonicMs: () => systemClock.monotonicMs() },
      team,
      reconcileSettings(config),
    );
    waiting = await mirror.countHeldFields();
    const outcome = findings.reasons.length === 0 ? 'complete' : 'partial';
    await finish(outcome, findings.reasons);
    const durationMs = Math.round(systemClock.monotonicMs() - startedMs);
    log.info({ outcome, counts: findings.counts, waiting, requests, durationMs }, 'run finished');
    return {
      team,
      runId,
      outcome,
      reasons: findings.reasons,
      warnings: findings.warnings,
      counts: findings.counts,
      waiting,
      requests,
      durationMs,
    };
  } catch (error) {
    log.error({ err: error }, 'run failed');
    const stopped = error instanceof MusterdError && error.code === 'stopped';
    const reason = error instanceof Error ? error.message : String(error);
    await finish(stopped ? 'partial' : 'failed', [...findings.reasons, reason]).catch(() => {});
    throw error;
  } finally {
    await rememberService(db, config, service).catch(() => {});
    await lease.release().catch(() => {});
    await service.close();
  }
}

export interface PlanReport {
  readonly team: Team;
  readonly users: UsersPlan;
  readonly listings: readonly ListingsPlan[];
  readonly findings: Findings;
}

/** The same up to the plan. Writes nothing on either side: the service refuses, and the mirror has no way to. */
export async function runPlan(db: Database<unknown>, config: Config, watch: Watch): Promise<PlanReport> {
  await requireSchema(db);
  const service = createService(config, 'read-only', watch);
  try {
    const findings = createFindings((event) => {
      logRunEvent(watch.log, event);
      watch.onEvent?.(event);
    });
    const team = await service.team();
    await checkTeam(db.kysely, config.team, team.id);
    const mirror = createMirrorReader(db, team.id);
    const places = { service, mirror, findings, monotonicMs: () => systemClock.monotonicMs() };
    return { team, ...(await plan(places, team, reconcileSettings(config))), findings };
  } finally {
    await service.close();
  }
}

/** Whether repeating the run as it is configured can not help. */
export function isFinal(error: unknown): boolean {
  return error instanceof MusterdError && ['configuration', 'wrong-team', 'credentials'].includes(error.code);
}
