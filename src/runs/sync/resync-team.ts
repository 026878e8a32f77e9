/** Takes all values of one team from the service, as a separate run or only as a plan. Nothing is ever sent. */
import type { Config } from '../../config/config.ts';
import type { Database } from '../../mirror/db/database.ts';
import type { Team } from '../../model/team.ts';
import type { UserPlan } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { applyPulls } from '../../reconcile/apply-users.ts';
import { planResyncOf } from '../../reconcile/merge/plan-resync.ts';
import { byId, type Look, look, unknownUser } from '../../reconcile/look.ts';
import { noteLook, planEach, type RunContext } from '../../reconcile/plan-users.ts';
import { settleIntents } from '../../reconcile/push/settle-intents.ts';
import { createPushContext } from '../../reconcile/push/record.ts';
import type { Roster } from '../../reconcile/read/roster.ts';
import type { RunNotes } from '../../reconcile/run-notes.ts';
import { requireSchema } from '../open.ts';
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
  context: RunContext,
  team: Team,
  config: Config,
): Promise<ResyncPlan & { readonly seen: Look }> {
  const { mirror, notes } = context;
  notes.event({ kind: 'step', step: 'users' });
  const everybody = await look(context, team, 'everybody');
  await noteLook(everybody, notes);
  const { roster, states, unknown } = everybody;
  const fresh = unknown.map((id) => unknownUser(id, roster.users.get(id)));
  const seen = { ...everybody, states: byId([...states, ...fresh]), unknown: [] };
  const planOf = (state: UserState) => planResyncOf(state, roster.members.get(state.id), config.policy);
  const { population, open } = await mirror.readGuardHistory();
  const plans = await planEach(seen, planOf, population, notes);
  return { team, seen, roster, plans, notes, openPushes: open.length };
}

/** Plans the resync, and writes nothing on either side. */
export async function planResync(db: Database, config: Config, watch: Watch): Promise<ResyncReport> {
  return withReading(db, config, watch, async (context, team) => {
    return { ...(await planTeam(context, team, config)), run: null };
  });
}

/** Looks up on the service what became of each unfinished push, then overwrites the mirror with the service's values. */
export async function runResync(db: Database, config: Config, watch: Watch): Promise<ResyncReport> {
  await requireSchema(db);
  const { push, policy } = reconcileSettings(config);
  const kind = { config, command: 'resync', groups: [] } as const;
  const { report, result } = await withRun(db, kind, watch, async (context, team): Promise<ResyncPlan> => {
    const { mirror } = context;
    await settleIntents(createPushContext(context, team), { ...push, policy });
    const taken = await planTeam(context, team, config);
    await applyPulls(context, taken.seen, taken.plans);
    await mirror.learnRoles();
    return taken;
  });
  return { ...result, run: report };
}
