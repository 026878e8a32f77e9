import { MusterdError } from '../errors.ts';
import { fenced, takeLease } from '../mirror/lease.ts';
import { readRefusedPlan, writeApproval, writeRefusedPlan } from '../mirror/plans.ts';
import { readTeamId } from '../mirror/teams.ts';
import { writeHolds } from '../mirror/users-write.ts';
import type { Hold } from '../model/change.ts';
import type { Id } from '../model/id.ts';
import type { PlannedPush } from '../model/plan.ts';
import { fields } from '../model/user.ts';
import { requireSchema } from '../places.ts';
import { hashOf } from '../reconcile/guard.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { plural, printJson, printLine } from './output.ts';
import { withMirror } from './setup.ts';

export interface ApproveOptions {
  readonly only?: string;
  readonly reject?: string;
  readonly reason?: string;
}

/** What a person decided about the users of a refused plan. */
interface Decision {
  readonly approved: readonly PlannedPush[];
  readonly rejected: readonly PlannedPush[];
  /** Neither: they wait on, in a plan of their own. */
  readonly rest: readonly PlannedPush[];
}

function parseIds(text: string | undefined, option: string): ReadonlySet<Id> | null {
  if (text === undefined) return null;
  const words = text.split(',').map((word) => word.trim());
  const wrong = words.find((word) => !/^\d{1,19}$/.test(word));
  if (wrong !== undefined)
    throw new MusterdError('usage', `${option}: "${wrong}" is no user id; give ids separated by commas`);
  return new Set(words.map(BigInt));
}

/** @throws MusterdError `usage` for users whom the plan does not hold, or who are both approved and rejected */
export function decide(pushes: readonly PlannedPush[], options: ApproveOptions): Decision {
  const only = parseIds(options.only, '--only');
  const reject = parseIds(options.reject, '--reject') ?? new Set<Id>();
  const known = new Set(pushes.map(({ userId }) => userId));
  const stranger = [...(only ?? []), ...reject].find((id) => !known.has(id));
  if (stranger !== undefined) throw new MusterdError('usage', `user ${stranger} is not in this plan`);
  const both = [...reject].find((id) => only?.has(id) === true);
  if (both !== undefined) throw new MusterdError('usage', `user ${both} can not be approved and rejected`);
  const isApproved = ({ userId }: PlannedPush) => !reject.has(userId) && (only === null || only.has(userId));
  return {
    approved: pushes.filter(isApproved),
    rejected: pushes.filter(({ userId }) => reject.has(userId)),
    rest: pushes.filter((push) => !isApproved(push) && !reject.has(push.userId)),
  };
}

/** A rejected edit stays in the mirror and is held: nobody loses what was typed. */
function rejections(
  pushes: readonly PlannedPush[],
  why: string,
): readonly { readonly id: Id; readonly hold: Hold }[] {
  return pushes.flatMap(({ userId, base, patch, name }) =>
    fields
      .filter((field) => patch[field] !== undefined)
      .map((field) => {
        const service = field === 'name' ? name : (base[field] as Exclude<Hold['service'], undefined>);
        const hold: Hold = {
          field,
          reason: 'brake',
          base: base[field],
          mirror: patch[field],
          service,
          detail: `rejected: ${why}`,
        };
        return { id: userId, hold };
      }),
  );
}

/** Lets a refused plan pass, all of it or some of its users; it holds for these values only, for a day. */
export async function approveCommand(
  context: Context,
  options: ApproveOptions,
  hash: string,
): Promise<ExitCode> {
  const why = options.reason?.trim() ?? '';
  if (why === '') throw new MusterdError('usage', '--reason is missing: say why this may pass');
  return withMirror(context, async ({ config, mirror: { db } }) => {
    await requireSchema(db);
    const teamId = await readTeamId(db.kysely, config.team);
    const plan = teamId === null ? null : await readRefusedPlan(db.kysely, teamId);
    if (teamId === null || plan === null || plan.hash !== hash.toLowerCase()) {
      const hint =
        plan === null
          ? 'No plan waits. A plan expires after a day; "musterd plan" shows what would move now.'
          : `The plan that waits is ${plan.hash}: look at it with "musterd plan".`;
      throw new MusterdError('usage', `no plan ${hash} waits for an approval`, { hint });
    }
    const decision = decide(plan.pushes, options);
    const { approved, rejected, rest } = decision;
    const lease = await takeLease(db, config.team, config.lease);
    try {
      await fenced(db, lease, async (tx) => {
        const remaining =
          rest.length === 0 ? null : { hash: hashOf(rest), reasons: plan.reasons, pushes: rest };
        await writeRefusedPlan(tx, { teamId, runId: null }, remaining);
        const reasons = plan.reasons;
        if (approved.length > 0)
          await writeApproval(tx, teamId, { hash: hashOf(approved), reasons, pushes: approved }, why);
        await writeHolds(tx, { teamId, runId: null }, rejections(rejected, why));
      });
    } finally {
      await lease.release();
    }
    if (context.json)
      printJson(context, { approved: approved.length, rejected: rejected.length, waiting: rest.length });
    else {
      printLine(
        context.out,
        `${plural(approved.length, 'user')} approved, ${rejected.length} rejected, ${rest.length} wait on`,
      );
      if (approved.length > 0)
        printLine(context.out, 'The next run sends them, as long as neither side has changed.');
    }
    return exitCode.ok;
  });
}
