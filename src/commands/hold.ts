import { MusterdError } from '../errors.ts';
import { type AskedHolds, askHolds, endAskedHolds, type HoldEnd } from '../mirror/held.ts';
import { underLease } from '../mirror/lease.ts';
import { momentMs } from '../model/moment.ts';
import { fields } from '../model/user.ts';
import { type Context, type ExitCode, exitCode } from './context.ts';
import { showTime } from '../model/field-values.ts';
import { reasonOf } from './confirmation.ts';
import { leaseWait } from './lease-wait.ts';
import { readField, requireTeamId, requireUser } from '../runs/named-user.ts';
import { printJson, printLine } from './output.ts';
import { withMirror } from './setup.ts';

export interface HoldOptions {
  readonly until?: string;
  readonly reason?: string;
  readonly end?: boolean;
}

const secondsPer: Readonly<Record<string, number>> = { m: 60, h: 3600, d: 86_400, w: 604_800 };

/** A moment (UTC, where no zone is given), or a stretch of time from now. */
export function readUntil(text: string | undefined): HoldEnd {
  if (text === undefined)
    throw new MusterdError('usage', '--until is missing: say when the hold ends, such as 2h or 3d');
  const [, count, unit = ''] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (count !== undefined) return { seconds: Number(count) * (secondsPer[unit] ?? 1) };
  const ms = momentMs(text);
  if (Number.isNaN(ms))
    throw new MusterdError(
      'usage',
      `--until "${text}" is neither a time such as 2026-03-01T09:00Z nor a duration such as 2h or 3d`,
    );
  return { moment: new Date(ms).toISOString() };
}

/** What is asked for, before anything is looked up. */
function readWish({ until, reason, end }: HoldOptions): { end: HoldEnd; why: string } | 'end' {
  const why = reasonOf(reason) ?? '';
  if (end === true) {
    if (until === undefined && reason === undefined) return 'end';
    throw new MusterdError('usage', '--end goes with neither --until nor --reason');
  }
  const wish = { end: readUntil(until), why };
  if (why === '') throw new MusterdError('usage', '--reason is missing: say why the fields are held');
  return wish;
}

/** Holds fields of a user on both sides until a moment, or ends such holds. */
export async function holdCommand(
  context: Context,
  options: HoldOptions,
  who: string,
  fieldName: string | undefined,
): Promise<ExitCode> {
  const wish = readWish(options);
  const wanted = fieldName === undefined ? fields : [readField(fieldName)];
  return withMirror(context, async (setup) => {
    const { config, mirror } = setup;
    const wait = leaseWait(context, config);
    const teamId = await requireTeamId(setup);
    const { id, name } = await requireUser(setup, teamId, who);
    if (wish === 'end') {
      const ended = await underLease(mirror.db, wait, (tx) => endAskedHolds(tx, teamId, id, wanted));
      if (context.json) printJson(context, { user_id: id, ended });
      else if (ended.length === 0) printLine(context.err, `Nothing of ${name} was held on request.`);
      else printLine(context.out, `${name}: no longer held: ${ended.join(', ')}`);
    } else {
      const asked = await underLease(mirror.db, wait, (tx) =>
        askHolds(tx, teamId, id, { fields: wanted, ...wish }),
      );
      if (context.json) printJson(context, { user_id: id, ...asked });
      else printAsked(context, name, asked);
    }
    return exitCode.ok;
  });
}

function printAsked(context: Context, name: string, { held, left, until }: AskedHolds): void {
  if (held.length > 0) printLine(context.out, `${name}: held until ${showTime(until)}: ${held.join(', ')}`);
  for (const { field, reason } of left)
    printLine(context.err, `${field} is held already (${reason}) and left as it is; see "musterd resolve"`);
}
