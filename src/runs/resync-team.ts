/** Takes all users from the service, as after a restored backup: the mirror's own edits wait for a person. */
import type { Watch } from './reconcile-team.ts';
import { reconcileSettings } from './reconcile-team.ts';
import { systemClock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { logRunEvent } from './log-events.ts';
import type { Database } from '../mirror/database.ts';
import { type Lease, takeLease } from '../mirror/lease.ts';
import { createMirror, createMirrorReader } from '../mirror/mirror.ts';
import { beginRun, finishRun, noteTeam } from '../mirror/runs.ts';
import { checkTeam, pinTeam } from '../mirror/pinned-teams.ts';
import type { UserPlan } from '../model/change.ts';
import type { RunOutcome } from '../model/run-group.ts';
import type { Team } from '../model/team.ts';
import { createService, requireSchema, sharePace } from './open.ts';
import { applyPulls } from '../reconcile/apply-users.ts';
import { createRunNotes, type RunNotes } from '../reconcile/run-notes.ts';
import { judgeOverlap, sayReplaced, stopReplaced } from '../reconcile/overlap.ts';
import { keepResolved, noteRoster } from '../reconcile/plan-users.ts';
import type { MirrorPort } from '../reconcile/ports.ts';
import { settleIntents } from '../reconcile/push/push.ts';
import { type Roster, readRoster } from '../reconcile/read/roster.ts';
import { tellOfUnread } from '../reconcile/unread.ts';
import { planResyncOf } from '../reconcile/merge/plan-resync.ts';
import type { Client } from '../service/client.ts';

export interface ResyncReport {
  readonly team: Team;
  readonly roster: Roster;
  readonly plans: readonly UserPlan[];
  readonly notes: RunNotes;
  /** Pushes whose outcome is not known. */
  readonly openPushes: number;
  /** `null`: only planned. */
  readonly run: { readonly runId: bigint; readonly waiting: number } | null;
}

function createLoggedFindings({ log, onEvent }: Watch): RunNotes {
  return createRunNotes((event) => {
    logRunEvent(log, event);
    onEvent?.(event);
  });
}

/** Of a run that read nobody. */
const noRoster: Roster = {
  users: new Map(),
  members: new Map(),
  rejected: [],
  unresolved: [],
  refusedLookups: 0,
  unproven: new Set(),
};

export function outcomeOf({ refusal, reasons }: RunNotes, error?: Error): RunOutcome {
  if (error !== undefined) return 'failed';
  if (refusal !== null) return 'refused';
  return reasons.length > 0 ? 'partial' : 'complete';
}

async function planTeam(
  service: Client,
  mirror: MirrorPort,
  team: Team,
  config: Config,
  notes: RunNotes,
): Promise<Omit<ResyncReport, 'run'>> {
  notes.event({ kind: 'step', step: 'users' });
  const roster = await readRoster(service, mirror, team, notes);
  const { users, members } = roster;
  noteRoster(roster, notes);
  const roles = new Map(
    members.values().flatMap(({ id, role }) => (role === null ? [] : [[id, role] as const])),
  );
  const differing = await mirror.readDifferingUsers([...users.values()], roles);
  const unseen = await mirror.readUnseenUsers([...users.keys()], [...members.keys()]);
  const states = [...differing, ...unseen].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const { maxDrift } = config.guard;
  await tellOfUnread(mirror, differing, { population: users.size, maxDrift }, notes);
  const planned = states.map((state) => planResyncOf(state, members.get(state.id), config.policy));
  const plans = keepResolved(planned, states, await mirror.countPresentUsers(), notes);
  const openPushes = (await mirror.readIntents()).length;
  return { team, roster, plans, notes, openPushes };
}

/** What it would do. Writes nothing on either side. */
export async function planResync(db: Database, config: Config, watch: Watch): Promise<ResyncReport> {
  await requireSchema(db);
  const service = createService(config, 'read-only', { ...watch, pace: await sharePace(db, config) });
  try {
    const team = await service.team();
    await checkTeam(db.kysely, config.team, team.id);
    const mirror = createMirrorReader(db, team.id);
    const notes = createLoggedFindings(watch);
    const replaced = await judgeOverlap(mirror, team, reconcileSettings(config).scope);
    if (replaced !== null) notes.warn(sayReplaced(replaced));
    return { ...(await planTeam(service, mirror, team, config, notes)), run: null };
  } finally {
    await service.close();
  }
}

/** One run that only takes: nothing is sent, and the client would refuse to. */
async function runUnderLease(
  db: Database,
  config: Config,
  lease: Lease,
  watch: Watch,
): Promise<ResyncReport> {
  let requests = 0;
  const service = createService(config, 'read-only', {
    ...watch,
    pace: await sharePace(db, config),
    onServiceEvent: ({ kind }) => {
      if (kind === 'request') requests += 1;
    },
  });
  const runId = await beginRun(db, lease, 'resync', []);
  const notes = createLoggedFindings({ ...watch, log: watch.log.child({ run: String(runId) }) });
  const end = async (error: Error | undefined, waiting: number) => {
    const { counts, requestIds, refusal } = notes;
    const ended = error === undefined ? (refusal?.reasons ?? []) : [error.message];
    const reasons = [...notes.reasons, ...ended];
    const outcome = outcomeOf(notes, error);
    await finishRun(db, runId, { outcome, reasons, counts, waiting, requests, requestIds });
  };
  try {
    const team = await service.team();
    await pinTeam(db, config.team, team.id);
    await noteTeam(db, runId, team.id);
    const mirror = createMirror(db, lease, team.id, runId);
    const settings = reconcileSettings(config);
    if (await stopReplaced({ mirror, notes }, team, settings.scope)) {
      const waiting = (await mirror.countHeldFields()) + (notes.refusal?.users ?? 0);
      await end(undefined, waiting);
      const nothing = { roster: noRoster, plans: [], openPushes: 0 };
      return { team, ...nothing, notes, run: { runId, waiting } };
    }
    const places = { service, mirror, notes, monotonicMs: () => systemClock.monotonicMs() };
    const nothing = { users: new Map(), roles: new Map(), approved: new Map(), sendByMs: 0 };
    const members = new Map(team.members.map((member) => [member.id, member]));
    const breaker = { open: false, unanswered: 0 };
    await settleIntents(
      { ...places, ...nothing, members, breaker },
      { ...settings.push, policy: settings.policy, sendDeadlineMs: 0 },
    );
    const report = await planTeam(service, mirror, team, config, notes);
    await mirror.applyTeam(team);
    await applyPulls(places, report.plans);
    const waiting = await mirror.countHeldFields();
    await end(undefined, waiting);
    return { ...report, run: { runId, waiting } };
  } catch (error) {
    await end(error instanceof Error ? error : new Error(String(error)), 0).catch((lost: unknown) => {
      watch.log.error({ err: lost }, 'run not recorded');
    });
    throw error;
  } finally {
    await service.close();
  }
}

/** Reads open pushes back, then takes everything, under the team's lease. */
export async function runResync(db: Database, config: Config, watch: Watch): Promise<ResyncReport> {
  await requireSchema(db);
  const log = watch.log.child({ team: config.team });
  const lease = await takeLease(db, config.team, {
    ...config.lease,
    signal: watch.signal,
    onWait: watch.onWait,
  });
  try {
    return await runUnderLease(db, config, lease, { ...watch, log });
  } finally {
    await lease.release().catch((error: unknown) => log.warn({ err: error }, 'lease not given back'));
  }
}
