import { MusterdError } from '../errors.ts';
import { editUsers, stampEdit } from '../mirror/edits.ts';
import { underLease } from '../mirror/lease.ts';
import {
  readKeptRows,
  readRefusedPlan,
  writeApproval,
  writeKeptRows,
  writeRefusedPlan,
} from '../mirror/plans.ts';
import { recordStep } from '../mirror/runs.ts';
import { readUserState } from '../mirror/users-read.ts';
import { applyDecisions } from '../mirror/users-write.ts';
import type { FieldValue, Hold } from '../model/user-plan.ts';
import type { MirrorRow } from '../model/user.ts';
import type { UserState } from '../model/user-state.ts';
import { type Id, maxId } from '../model/id.ts';
import { type NamePair, samePair, splitName } from '../model/name.ts';
import type { PlannedPush } from '../model/plan.ts';
import { type BaseUser, type Field, type ServiceUser, sameBytes, type UserPatch } from '../model/user.ts';
import { holdStands } from '../reconcile/merge/plan-field.ts';
import { hashOf, onlyFields } from '../reconcile/guard/planned-push.ts';
import { planResolved } from '../reconcile/merge/plan-resync.ts';
import { patchedFields } from '../reconcile/push/outcome.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { columnOf, showValue } from '../model/field-values.ts';
import { leaseWait } from './lease-wait.ts';
import { readField, requireTeamId, requireUser } from '../runs/named-user.ts';
import { printJson, printLine } from './output.ts';
import { withMirror } from './setup.ts';

/** Which value is to stand: one of the two sides', or another. */
export type Take = 'mirror' | 'service' | { readonly value: FieldValue };

/** @throws MusterdError `usage` for what cannot be a value of the field; the rest the trigger on the mirror judges */
export function readTake(field: Field, text: string | undefined): Take {
  if (text === undefined) throw new MusterdError('usage', '--take is missing: mirror, service, or a value');
  if (text === 'mirror' || text === 'service') return text;
  switch (field) {
    case 'name': {
      const [first = '', last, ...more] = text.split('|').map((half) => half.trim());
      if (more.length > 0) throw new MusterdError('usage', `"${text}" has more than one bar`);
      return { value: last === undefined ? splitName(text) : { first, last } };
    }
    case 'roleId': {
      const value = /^\d+$/.test(text) ? BigInt(text) : maxId + 1n;
      if (value > maxId) throw new MusterdError('usage', `"${text}" is not a role id`);
      return { value };
    }
    case 'email':
    case 'phone':
      return { value: text.trim() === '' ? null : text.trim() };
    default:
      return field satisfies never;
  }
}

interface Held {
  readonly hold: Hold;
  readonly mirror: MirrorRow;
  readonly base: BaseUser;
}

/** @throws MusterdError `usage` if there is nothing to resolve */
function requireHeld({ id, held, mirror, base }: UserState, field: Field): Held {
  const hold = held.find((one) => one.field === field);
  const column = columnOf(field);
  if (hold === undefined) {
    throw new MusterdError('usage', `The ${column} of user ${id} is not held`, {
      hint: '"musterd held" lists what is; a field that is not held is edited in mirror.users.',
    });
  }
  if (hold.reason === 'asked') {
    throw new MusterdError('usage', `The ${column} of user ${id} is held because somebody asked for it`, {
      hint: `End it with "musterd hold ${id} ${column} --end".`,
    });
  }
  if (mirror === undefined || base === undefined || mirror.gone) {
    throw new MusterdError('usage', `User ${id} is not in the team now`, {
      hint: 'The field stays held until the user is back.',
    });
  }
  const unsaid: ServiceUser = { id, raw: {} };
  if (!holdStands(hold, mirror, unsaid)) {
    throw new MusterdError('usage', `The ${column} of user ${id} was edited since it was held`, {
      hint: 'The next run looks at it again; "musterd held" shows what it makes of it.',
    });
  }
  return { hold, mirror, base };
}

const busy = (id: Id) =>
  new MusterdError('mirror', `User ${id} is being edited; nothing was changed`, { hint: 'Try again.' });

/** What the mirror is to hold, or `undefined` if it already does. */
function wantedOf(take: Exclude<Take, 'service'>, field: Field, mirror: MirrorRow): UserPatch | undefined {
  const value = take === 'mirror' ? mirror[field] : take.value;
  const patch: UserPatch = { [field]: value };
  const same = sameBytes(field, { ...mirror, ...patch }, mirror);
  // Anyone who takes a name that was cut by a guess accepts the cut.
  return same && (field !== 'name' || mirror.split === 'known') ? undefined : patch;
}

export interface Resolved {
  readonly field: Field;
  readonly name: string;
  readonly mirror: FieldValue;
  readonly base: FieldValue;
}

type Tx = Parameters<typeof applyDecisions>[0];

/** What was decided field by field waits in no plan any more. */
async function takeOutOfPlans(tx: Tx, teamId: Id, id: Id, field: Field): Promise<void> {
  const without = (rows: readonly PlannedPush[]) =>
    rows
      .map((row) =>
        row.userId === id
          ? onlyFields(
              row,
              patchedFields(row.patch).filter((one) => one !== field),
            )
          : row,
      )
      .filter(({ patch }) => patchedFields(patch).length > 0);
  const by = { teamId, runId: null };
  await writeKeptRows(tx, by, without(await readKeptRows(tx, teamId)));
  const plan = await readRefusedPlan(tx, teamId);
  if (plan?.pushes.some(({ userId, patch }) => userId === id && patch[field] !== undefined) !== true) return;
  const pushes = without(plan.pushes);
  const { reasons, lacking } = plan;
  const isDone = pushes.length === 0 && lacking.length === 0;
  await writeRefusedPlan(
    tx,
    by,
    isDone ? null : { hash: hashOf(pushes, lacking), reasons, pushes, lacking },
    false,
  );
}

/** Ends one hold: all of it in the transaction that it is given. */
async function resolveHold(
  tx: Tx,
  { teamId, team, id }: { readonly teamId: Id; readonly team: string; readonly id: Id },
  field: Field,
  take: Take,
  why: string,
): Promise<Resolved> {
  const state = await readUserState(tx, teamId, id);
  const { hold, mirror, base } = requireHeld(state, field);
  const runId = await recordStep(tx, { team, teamId, command: 'resolve' });
  const decided = planResolved({ ...state, mirror, base }, hold, take === 'service' ? take : 'mirror');
  const deferred = await applyDecisions(tx, { teamId, runId }, [decided]);
  if (deferred.size > 0) throw busy(id);
  const { mirror: after, base: agreed } = decided.write;
  await takeOutOfPlans(tx, teamId, id, field);
  const result = { field, name: mirror.joined, mirror: after[field], base: agreed[field] };
  if (take === 'service') return result;
  const wanted = wantedOf(take, field, mirror);
  if (wanted === undefined) await stampEdit(tx, teamId, id);
  else {
    const edited = await editUsers(tx, teamId, [{ id, expected: mirror, values: wanted }]);
    if (!edited.has(id)) throw busy(id);
  }
  const value = wanted?.[field] === undefined ? mirror[field] : (wanted[field] as FieldValue);
  if (hold.reason === 'brake' || hold.reason === 'rejected') {
    const push: PlannedPush = {
      userId: id,
      name: mirror.joined,
      base: { [field]: agreed[field] },
      patch: { [field]: value },
    };
    const approval = { hash: hashOf([push]), reasons: ['resolved'], pushes: [push], lacking: [] };
    // No brake has looked at what was rejected: it passes the limits alone.
    await writeApproval(tx, teamId, { ...approval, passesBrakes: hold.reason === 'brake', why });
  }
  return { ...result, mirror: value };
}

/** Decides a held field, in one transaction; the next run carries out what follows from it. */
export async function resolveCommand(
  context: Context,
  options: { readonly take?: string; readonly reason?: string },
  who: string,
  fieldName: string,
): Promise<ExitCode> {
  const field = readField(fieldName);
  const take = readTake(field, options.take);
  const why = options.reason?.trim() || `musterd resolve --take ${options.take}`;
  return withMirror(context, async (setup) => {
    const { config, mirror } = setup;
    const teamId = await requireTeamId(setup);
    const { id } = await requireUser(setup, teamId, who);
    const of = { teamId, team: config.team, id };
    const done = await underLease(mirror.db, leaseWait(context, config), (tx) =>
      resolveHold(tx, of, field, take, why),
    );
    const values = { mirror: done.mirror, base: done.base };
    if (context.json) printJson(context, { user_id: id, field: columnOf(field), ...values });
    else printLine(context.out, inWords(id, done));
    return exitCode.ok;
  });
}

function inWords(id: Id, { field, name, mirror, base }: Resolved): string {
  const what = `${columnOf(field)} of ${id} ${name}`;
  const isSame = field === 'name' ? samePair(mirror as NamePair, base as NamePair) : mirror === base;
  return isSame
    ? `${what}: both sides have agreed on ${showValue(mirror)}`
    : `${what}: the next run sends ${showValue(mirror)} in place of ${showValue(base)}`;
}
