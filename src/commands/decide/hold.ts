import { MusterdError } from '../../errors.ts';
import { fields } from '../../model/fields.ts';
import { showTime } from '../../model/zone-time.ts';
import type { TimeFromNow } from '../../model/moment.ts';
import { type RequestedHolds, endHold, holdFields, readUntil } from '../../runs/decide/hold-fields.ts';
import { readField, requireTeamId, requireUser } from '../../runs/named-user.ts';
import { confirmationOf, reasonOf } from '../confirmation.ts';
import { type Context, type ExitCode, exitCode } from '../context.ts';
import { leaseWait } from '../lease-wait.ts';
import { printJson, printLine } from '../output.ts';
import { withMirror } from '../setup.ts';

export interface HoldOptions {
  readonly until?: string;
  readonly reason?: string;
  readonly as?: string;
  readonly end?: boolean;
}

/** Reads the options before anything is looked up, so that a wrong option is reported first. */
function readWish({ until, reason, end }: HoldOptions): { end: TimeFromNow; why: string } | 'end' {
  const why = reasonOf(reason) ?? '';
  if (end === true) {
    if (until === undefined && reason === undefined) return 'end';
    throw new MusterdError('usage', '--end cannot be combined with --until or --reason');
  }
  const wish = { end: readUntil(until), why };
  if (why === '') throw new MusterdError('usage', '--reason is missing: say why the fields are held');
  return wish;
}

/** Holds fields of a user on both sides until a given time, or ends such holds. */
export async function holdCommand(
  context: Context,
  options: HoldOptions,
  userText: string,
  fieldName: string | undefined,
): Promise<ExitCode> {
  const wish = readWish(options);
  const wanted = fieldName === undefined ? fields : [readField(fieldName)];
  return withMirror(context, async (setup) => {
    const team = leaseWait(context, setup.config);
    const { id, name } = await requireUser(setup, await requireTeamId(setup), userText);
    if (wish === 'end') {
      const ended = await endHold(setup, team, { id, fields: wanted });
      if (context.json) printJson(context, { user_id: id, ended });
      else if (ended.length === 0) printLine(context.err, `No field of ${name} was held on request.`);
      else printLine(context.out, `${name}: no longer held: ${ended.join(', ')}`);
    } else {
      const { actor } = confirmationOf(context, options);
      const held = await holdFields(setup, team, { id, fields: wanted, ...wish, actor });
      if (context.json) printJson(context, { user_id: id, ...held });
      else printAsked(context, name, held);
    }
    return exitCode.ok;
  });
}

function printAsked(context: Context, name: string, { held, before, until }: RequestedHolds): void {
  printLine(context.out, `${name}: held until ${showTime(until)}: ${held.join(', ')}`);
  for (const { field, reason } of before)
    printLine(context.out, `${field} was held already (${reason}), and stays held after that`);
}
