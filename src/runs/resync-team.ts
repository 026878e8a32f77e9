/** Takes everything of one team from the service, as a run of its own or only as a plan. Nothing is ever sent. */
import type { Config } from '../config/config.ts';
import type { Database } from '../mirror/db/database.ts';
import type { Team } from '../model/team.ts';
import type { UserPlan } from '../model/user-plan.ts';
import { applyPulls } from '../reconcile/apply-users.ts';
import { planResyncOf } from '../reconcile/merge/plan-resync.ts';
import { keepResolved, noteRoster, type RunContext, unknownUser } from '../reconcile/plan-users.ts';
import { settleIntents } from '../reconcile/push/settle-intents.ts';
import { createPushContext } from '../reconcile/push/record.ts';
import { rolesOf } from '../reconcile/read/members.ts';
import { readEverybody } from '../reconcile/read/ask.ts';
import { type Roster, readRoster } from '../reconcile/read/roster.ts';
import { type RunNotes, tell } from '../reconcile/run-notes.ts';
import { noteUnread } from '../reconcile/unread.ts';
import { requireSchema } from './open.ts';
import { reconcileSettings } from './reconcile-team.ts';
import type { RunReport } from './run-record.ts';
import { type Watch, withReading, withRun } from './with-run.ts';

export interface ResyncPlan {
  readonly team: Team;
  readonly roster: Roster;
  readonly plans: readonly UserPlan[];
  readonly notes: RunNotes;
  /** Pushes with an unknown outcome. */
  readonly openPushes: number;
}

export interface ResyncReport extends ResyncPlan {
  /** `null` if it is only planned. */
  readonly run: RunReport | null;
}

async function planTeam(
  { service, mirror, notes }: RunContext,
  team: Team,
  config: Config,
): Promise<ResyncPlan> {
  notes.event({ kind: 'step', step: 'users' });
  const roster = await readRoster(service, mirror, team, notes, await readEverybody(service));
  const { users, members, unresolved } = roster;
  await noteRoster(roster, notes);
  const roles = rolesOf(members);
  const compared = await mirror.compareShownUsers({ users, roles, leftOut: unresolved });
  const { differing, unseen, unknown } = compared;
  const fresh = unknown.map((id) => unknownUser(id, users.get(id)));
  const states = [...differing, ...unseen, ...fresh].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  noteUnread(notes, differing, users.size);
  const planned = states.map((state) => planResyncOf(state, members.get(state.id), config.policy));
  const { plans, remarks } = keepResolved(planned, states, await mirror.countPresentUsers());
  tell(notes, remarks);
  const openPushes = (await mirror.readIntents()).length;
  return { team, roster, plans, notes, openPushes };
}

/** Plans it, and writes nothing on either side. */
export async function planResync(db: Database, config: Config, watch: Watch): Promise<ResyncReport> {
  return withReading(db, config, watch, async (context, team) => {
    return { ...(await planTeam(context, team, config)), run: null };
  });
}

/** Reads open pushes back, then takes everything, under the team's lease. The client is read-only. */
export async function runResync(db: Database, config: Config, watch: Watch): Promise<ResyncReport> {
  await requireSchema(db);
  const { push, policy } = reconcileSettings(config);
  const kind = { config, command: 'resync', groups: [], mode: 'read-only' } as const;
  const { report, result } = await withRun(db, kind, watch, async (context, team): Promise<ResyncPlan> => {
    const { mirror } = context;
    await settleIntents(createPushContext(context, team), { ...push, policy });
    const taken = await planTeam(context, team, config);
    await mirror.applyTeam(team);
    await applyPulls(context, { ...taken, unknown: [], roles: new Map() });
    await mirror.learnRoles();
    return taken;
  });
  return { ...result, run: report };
}
