/** A run of one team in both directions, and its plan. */
import type { Config } from '../../config/config.ts';
import { MusterdError } from '../../errors.ts';
import type { Database } from '../../mirror/db/database.ts';
import { readWaitingFields } from '../../mirror/users/holds.ts';
import { paceOf } from '../../model/pace.ts';
import { type RunGroup, scheduledGroups } from '../../model/run-group.ts';
import type { Team } from '../../model/team.ts';
import { programVersion } from '../program-version.ts';
import { planRun, type PushCost, type RunPlan } from '../../reconcile/plan-run.ts';
import { reconcile } from '../../reconcile/reconcile.ts';
import type { ReconcileSettings } from '../../reconcile/reconcile-settings.ts';
import { countHeld } from '../../reconcile/guard/left-waiting.ts';
import type { Policy } from '../../reconcile/merge/merge-field.ts';
import type { RunNotes } from '../../reconcile/run-notes.ts';
import type { RunReport } from './run-record.ts';
import { type Watch, withReading, withRun } from './with-run.ts';

/** The longest time from reading users to sending their update, in ms. The wait for the pace does not count. */
const sendDeadlineMs = 5_000;
/** A field that was pushed this many times in a row without effect is held. */
const maxTries = 3;

/** The policy of the merge: which side wins a conflict, and whether a new split of a name needs an approval. */
export const policyOf = ({ policy, push }: Pick<Config, 'policy' | 'push'>): Policy => ({
  ...policy,
  approvesSplits: push.approve === 'always' || push.fourEyes,
});

export function reconcileSettings(config: Config): ReconcileSettings {
  const { push, pages, absence, segments, roles, rate } = config;
  return {
    program: programVersion(),
    push: {
      ...push,
      maxTries,
      sendDeadlineMs,
      placeMs: 60_000 / (rate.perMinute * rate.share),
    },
    pageSize: pages.size,
    absence,
    policy: policyOf(config),
    segments,
    guard: {
      ...config.guard,
      adminRoleIds: roles.admin.map(BigInt),
      isReviewed: push.approve === 'always',
    },
  };
}

/** One run in both directions. @throws the error that ended it early */
export async function runReconcile(
  db: Database,
  config: Config,
  command: 'reconcile' | 'daemon',
  { groups = scheduledGroups, ...watch }: Watch & { readonly groups?: readonly RunGroup[] },
): Promise<RunReport> {
  const settings = reconcileSettings(config);
  const { report } = await withRun(db, { config, command, groups, settings }, watch, (context, team) =>
    reconcile(context, team, settings, groups),
  );
  return report;
}

export interface PlanReport extends RunPlan {
  readonly team: Team;
  readonly notes: RunNotes;
  /** The number of single fields that will wait for a person after the run. */
  readonly held: number;
  /** How long pushing takes at this pace. If the service is slow, it takes longer. */
  readonly cost: PushCost & { readonly seconds: number; readonly perMinute: number };
}

/** Like `runReconcile`, up to the plan. It writes nothing on either side. */
export async function runPlan(db: Database, config: Config, watch: Watch): Promise<PlanReport> {
  return withReading(db, config, watch, async (context, team) => {
    const planned = await planRun(context, team, reconcileSettings(config));
    const { perMinute, share } = config.rate;
    const { periodMs } = paceOf(config.rate);
    const seconds = Math.ceil((planned.cost.requests * periodMs) / 1_000);
    const cost = { ...planned.cost, seconds, perMinute: perMinute * share };
    // In a copy, no field waits for a person.
    const before = context.sendBlock === 'copy' ? [] : await readWaitingFields(db.kysely, team.id);
    const held = context.sendBlock === 'copy' ? 0 : countHeld(planned.users.plans, before);
    return { team, ...planned, notes: context.notes, held, cost };
  });
}

/** True if another run with the same settings would fail in the same way. */
export function isFinal(error: unknown): boolean {
  return error instanceof MusterdError && ['configuration', 'wrong-team', 'credentials'].includes(error.code);
}
