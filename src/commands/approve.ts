import type { Config } from '../config/config.ts';
import { MusterdError } from '../errors.ts';
import { approveAbsence, readWaitingAbsences, type WaitingAbsence } from '../mirror/absences.ts';
import type { Database } from '../mirror/database.ts';
import { readAskedFields } from '../mirror/held.ts';
import { writeHolds } from '../mirror/holds.ts';
import { underLease } from '../mirror/lease.ts';
import { readRefusedPlan, type StoredPlan, writeApproval, writeRefusedPlan } from '../mirror/plans.ts';
import { readTeamId } from '../mirror/pinned-teams.ts';
import type { Hold } from '../model/user-plan.ts';
import type { Id } from '../model/id.ts';
import type { PlannedPush } from '../model/plan.ts';
import type { Field } from '../model/user.ts';
import { requireSchema } from '../runs/open.ts';
import { withholdLeft } from '../reconcile/missing-rows.ts';
import { hashOf, onlyFields, shownIn } from '../reconcile/guard/planned-push.ts';
import { patchedFields } from '../reconcile/push/outcome.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { leaseWait } from './lease-wait.ts';
import { columnOf } from '../model/field-values.ts';
import { printJson, printLine } from './output.ts';
import { plural } from '../model/in-words.ts';
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
  /** Neither: they wait on, in a plan of their own, until somebody decides about them too. */
  readonly rest: readonly PlannedPush[];
  /** Of those that were to be rejected the fields that wait on as well, since somebody asked to hold them. */
  readonly asked: number;
}

function parseIds(text: string | undefined, option: string): ReadonlySet<Id> | null {
  if (text === undefined) return null;
  const words = text.split(',').map((word) => word.trim());
  const wrong = words.find((word) => !/^\d{1,19}$/.test(word));
  if (wrong !== undefined)
    throw new MusterdError('usage', `${option}: "${wrong}" is not a user id; give ids separated by commas`);
  return new Set(words.map(BigInt));
}

/**
 * | the user is   | the field is held on request | the field     |
 * |---------------|------------------------------|---------------|
 * | approved      | ·                            | is approved   |
 * | rejected      | no                           | is rejected   |
 * | rejected      | yes                          | waits on      |
 * | neither       | ·                            | waits on      |
 *
 * A field has one hold, and the one that was asked for stands to its end; what waits on is not sent after it.
 * @throws MusterdError `usage` for users whom the plan does not hold, or who are both approved and rejected
 */
export function decidePlan(
  pushes: readonly PlannedPush[],
  options: ApproveOptions,
  asked: ReadonlyMap<Id, readonly Field[]> = new Map(),
): Decision {
  const only = parseIds(options.only, '--only');
  const reject = parseIds(options.reject, '--reject') ?? new Set<Id>();
  const known = new Set(pushes.map(({ userId }) => userId));
  const stranger = [...(only ?? []), ...reject].find((id) => !known.has(id));
  if (stranger !== undefined) throw new MusterdError('usage', `user ${stranger} is not in this plan`);
  const both = [...reject].find((id) => only?.has(id) === true);
  if (both !== undefined) throw new MusterdError('usage', `user ${both} cannot be approved and rejected`);
  const isApproved = ({ userId }: PlannedPush) => !reject.has(userId) && (only === null || only.has(userId));
  const isAsked = ({ userId }: PlannedPush, field: Field) => asked.get(userId)?.includes(field) === true;
  const part = (push: PlannedPush, is: (field: Field) => boolean) =>
    onlyFields(push, patchedFields(push.patch).filter(is));
  const hasFields = ({ patch }: PlannedPush) => patchedFields(patch).length > 0;
  const rejected = pushes.filter(({ userId }) => reject.has(userId));
  const held = rejected.map((push) => part(push, (field) => isAsked(push, field))).filter(hasFields);
  return {
    approved: pushes.filter(isApproved),
    rejected: rejected.map((push) => part(push, (field) => !isAsked(push, field))).filter(hasFields),
    rest: [...pushes.filter((push) => !isApproved(push) && !reject.has(push.userId)), ...held],
    asked: held.reduce((sum, { patch }) => sum + patchedFields(patch).length, 0),
  };
}

/** A rejected edit stays in the mirror and is held: nobody loses what was typed. */
function rejections(
  pushes: readonly PlannedPush[],
  why: string,
): readonly { readonly id: Id; readonly hold: Hold }[] {
  return pushes.flatMap((push) =>
    patchedFields(push.patch).map((field) => {
      const hold: Hold = {
        field,
        reason: 'rejected',
        base: push.base[field],
        mirror: push.patch[field],
        service: shownIn(push, field),
        detail: why,
      };
      return { id: push.userId, hold };
    }),
  );
}

interface Place {
  readonly context: Context;
  readonly config: Config;
  readonly db: Database;
  readonly teamId: Id;
  readonly why: string;
}

/** What a run has replaced since it was looked at is not decided about: nobody has seen what waits now. */
const changedMeanwhile = (hash: string) =>
  new MusterdError('usage', `${hash} no longer waits for an approval: something else took its place`, {
    hint: 'Nothing was decided. Look at what waits now with "musterd plan" and "musterd status".',
  });

/** Lets a refused plan pass, all of it or some of its users; it holds for these values only, for a day. */
async function approvePlan(place: Place, plan: StoredPlan, options: ApproveOptions): Promise<void> {
  const { context, config, db, teamId, why } = place;
  const { reasons, hash } = plan;
  if (plan.pushes.length === 0 && plan.lacking.length === 0) {
    throw new MusterdError('usage', `There is nothing to approve in ${hash}`, {
      hint: `It was refused, and pushes nothing: ${reasons.join('; ')}`,
    });
  }
  const ids = plan.pushes.map(({ userId }) => userId);
  // Anyone who picks users has said nothing of all the others.
  const [accepted, open] = options.only === undefined ? [plan.lacking, []] : [[], plan.lacking];
  const { approved, rejected, rest, asked } = await underLease(db, leaseWait(context, config), async (tx) => {
    const now = await readRefusedPlan(tx, teamId);
    if (now?.plan_id !== plan.plan_id) throw changedMeanwhile(hash);
    const decision = decidePlan(plan.pushes, options, await readAskedFields(tx, teamId, ids));
    const { approved, rejected, rest } = decision;
    const isDone = rest.length === 0 && open.length === 0;
    const remaining = isDone ? null : { hash: hashOf(rest, open), reasons, pushes: rest, lacking: open };
    await writeRefusedPlan(tx, { teamId, runId: null }, remaining, false);
    const what = { hash: hashOf(approved, accepted), reasons, pushes: approved, lacking: accepted };
    await writeApproval(tx, teamId, { ...what, passesBrakes: false, why });
    await writeHolds(tx, { teamId, runId: null }, rejections(rejected, why));
    return decision;
  });
  if (context.json) {
    const counts = { approved: approved.length, rejected: rejected.length, waiting: rest.length };
    printJson(context, { ...counts, held_on_request: asked, lacking: accepted.map(columnOf) });
    return;
  }
  printLine(
    context.out,
    `${plural(approved.length, 'user')} approved, ${rejected.length} rejected, ${rest.length} wait on`,
  );
  if (asked > 0)
    printLine(
      context.out,
      `Not rejected, held on request: ${plural(asked, 'field')}. They wait on in the plan when that ends.`,
    );
  if (accepted.length > 0)
    printLine(
      context.out,
      `Users without ${accepted.map(columnOf).join(', ')} refuse no plan any more, until they have it again.`,
    );
  if (approved.length > 0)
    printLine(context.out, 'The next run sends them, as long as neither side has changed.');
}

/** Agrees that rows are gone which no listing shows any more: these rows only, for as long as they are missing. */
async function approveWithheld(
  place: Place,
  absence: WaitingAbsence,
  { only, reject }: ApproveOptions,
): Promise<void> {
  const { context, config, db, teamId, why } = place;
  if (reject !== undefined)
    throw new MusterdError('usage', 'There is nothing to reject: what is not approved stays as it is');
  const chosen = parseIds(only, '--only');
  const missing = new Set(absence.ids);
  const stranger = chosen?.values().find((id) => !missing.has(id));
  if (stranger !== undefined)
    throw new MusterdError('usage', `${stranger} is not among the missing ${absence.resource}`);
  const ids = chosen === null ? absence.ids : absence.ids.filter((id) => chosen.has(id));
  const rest = withholdLeft(
    absence.resource,
    absence.ids.filter((id) => chosen?.has(id) === false),
  );
  await underLease(db, leaseWait(context, config), async (tx) => {
    const now = await readWaitingAbsences(tx, teamId);
    if (now.every((one) => one.absence_id !== absence.absence_id)) throw changedMeanwhile(absence.hash);
    await approveAbsence(tx, teamId, absence, { ids, rest, why });
  });
  const waiting = rest?.ids.length ?? 0;
  if (context.json) {
    printJson(context, { approved: ids.length, rejected: 0, waiting });
    return;
  }
  const what = absence.resource.replace('_', ' ');
  printLine(context.out, `${ids.length} missing ${what} approved, ${waiting} wait on`);
  printLine(context.out, 'The next complete run calls them gone, if they are missing still.');
  if (rest !== null)
    printLine(
      context.out,
      `No run calls the others gone, before they are approved too: musterd approve ${rest.hash} --reason …`,
    );
}

/** Lets pass what the guard stopped: a refused plan, or rows that too many of are missing. */
export async function approveCommand(
  context: Context,
  options: ApproveOptions,
  hash: string,
): Promise<ExitCode> {
  const why = options.reason?.trim() ?? '';
  if (why === '') throw new MusterdError('usage', '--reason is missing: say why this may pass');
  return withMirror(context, async ({ config, mirror: { db } }) => {
    await requireSchema(db);
    const asked = hash.toLowerCase();
    const teamId = await readTeamId(db.kysely, config.team);
    const plan = teamId === null ? null : await readRefusedPlan(db.kysely, teamId);
    const absences = teamId === null ? [] : await readWaitingAbsences(db.kysely, teamId);
    const absence = absences.find((one) => one.hash === asked);
    if (teamId !== null && plan?.hash === asked)
      await approvePlan({ context, config, db, teamId, why }, plan, options);
    else if (teamId !== null && absence !== undefined)
      await approveWithheld({ context, config, db, teamId, why }, absence, options);
    else {
      const waiting = [...(plan === null ? [] : [plan.hash]), ...absences.map((one) => one.hash)];
      const hint =
        waiting.length === 0
          ? 'Nothing waits. "musterd plan" shows what would move now.'
          : `What waits: ${waiting.join(', ')}. Look at it with "musterd plan" and "musterd status".`;
      throw new MusterdError('usage', `nothing waits for an approval under ${hash}`, { hint });
    }
    return exitCode.ok;
  });
}
