/** Prints the explanation of `musterd why`, as text or JSON. */
import { columnOf, type Field, fields } from '../../model/fields.ts';
import type { UserState } from '../../model/user-state.ts';
import { joinName } from '../../model/name.ts';
import { readable } from '../../model/user.ts';
import type { Context } from '../context.ts';
import { sayEither } from '../../runs/decide/say-seen.ts';
import type { Explanation } from '../../runs/look/explain-user.ts';
import { showValue } from '../../model/field-values.ts';
import { showTime } from '../../model/zone-time.ts';
import { ledgerColumns } from './ledger-rows.ts';
import { paint, printJson, printLine } from '../output.ts';
import { type PrintedColumns, printRows } from '../print-table.ts';
import { printable } from '../../model/in-words.ts';

/** The name to show: the service's name; without one, the mirror's; else the last agreed name. */
function nameOf({ service, mirror, base }: UserState): string {
  return (
    readable(service?.name) ??
    mirror?.joined ??
    (base === undefined ? '' : base.joined || joinName(base.name))
  );
}

/** @param as the option --as if this login must add it to commands that decide; otherwise empty */
export function showExplanation(context: Context, explanation: Explanation, as: string): void {
  if (context.json) printJson(context, inJson(explanation));
  else print(context, explanation, as);
}

function inJson(explanation: Explanation): object {
  const { id, state, edit, answer, held, openPush, openOutcomes, moves, next } = explanation;
  const outcomes = Object.entries(openOutcomes ?? {});
  return {
    user: {
      id,
      name: nameOf(state),
      name_split: state.mirror?.split ?? null,
      resolved: state.mirror?.resolved ?? null,
      gone: state.mirror?.gone ?? null,
      edited_at: edit?.at ?? null,
      edited_by: edit?.by ?? null,
    },
    service: answer.reached
      ? {
          reached: true,
          seen: answer.service !== undefined,
          listed: answer.member !== undefined,
          older: state.stale === true,
          problem: null,
        }
      : { reached: false, seen: null, listed: null, older: null, problem: answer.error.message },
    presence: explanation.case,
    fields: explanation.fields.map(({ field, base, mirror, service, rule, decision, because }) => ({
      field: columnOf(field),
      base: base ?? null,
      mirror: mirror ?? null,
      service: service ?? null,
      rule,
      decision,
      because,
      held: heldInJson(held.find((hold) => hold.field === columnOf(field))),
    })),
    open_push:
      openPush === null
        ? null
        : {
            change_id: openPush.intent.changeId,
            run_id: openPush.runId,
            opened_at: openPush.openedAt,
            request_id: openPush.requestId,
            sent: Object.fromEntries(
              fields.flatMap((field) => {
                const value = openPush.intent.sent[field];
                return value === undefined ? [] : [[columnOf(field), value]];
              }),
            ),
            shows: Object.fromEntries(
              outcomes.map(([field, outcome]) => [columnOf(field as Field), outcome]),
            ),
          },
    batch: batchInJson(held),
    moves,
    next,
  };
}

/** The batch that contains held fields of the user. */
function batchInJson(held: Explanation['held']): object | null {
  const sorted = held.toSorted((a, b) => (a.field < b.field ? -1 : 1));
  const first = sorted.find(({ batch }) => batch !== null);
  if (first === undefined) return null;
  const inBatch = sorted.filter(({ batch }) => batch === first.batch);
  return {
    hash: first.batch,
    has_user: true,
    fields: inBatch.map(({ field }) => field),
    made_at: first.since,
    reasons: [...new Set(inBatch.map(({ detail }) => detail))],
  };
}

function heldInJson(held: Explanation['held'][number] | undefined): object | null {
  if (held === undefined) return null;
  const { state, reason, detail, since, until, run_id, batch, edit_id } = held;
  return {
    state,
    reason,
    detail,
    since,
    until,
    run_id,
    batch,
    edit_id,
    mirror_value: held.mirror_value_then ?? null,
    service_value: held.service_value_then ?? null,
  };
}

function print(context: Context, explanation: Explanation, as: string): void {
  const { id, state, edit, answer, held, commands, openPush, moves, next } = explanation;
  const line = (text: string) => printLine(context.out, printable(text));
  const marks = [
    ...(state.mirror === undefined ? ['not in the mirror'] : []),
    ...(state.mirror?.gone === true ? ['gone'] : []),
    ...(state.mirror?.resolved === false ? ['unresolved'] : []),
    ...(state.mirror?.split === 'guessed' ? ['the halves of the name are a guess'] : []),
    ...(answer.reached && answer.service === undefined ? ['not answered by the service'] : []),
    ...(answer.reached && answer.member === undefined ? ['not listed by the team'] : []),
    ...(state.stale === true ? ['shown older than before'] : []),
  ];
  line(`User ${id} "${nameOf(state)}"${marks.length === 0 ? '' : `: ${marks.join(', ')}`}`);
  if (edit !== null) line(`Last edited here at ${showTime(edit.at)} by ${edit.by}`);
  if (!answer.reached) line(`The service could not be read: ${answer.error.message}`);
  const holdOn = (one: Field) => held.find(({ field }) => field === columnOf(one));
  const columns: PrintedColumns<(typeof explanation.fields)[number]> = {
    field: ({ field }) => columnOf(field),
    base: ({ base }) => showValue(base),
    mirror: ({ mirror }) => showValue(mirror),
    service: ({ service }) => showValue(service),
    rule: ({ rule }) => rule,
    decision: ({ decision }) => decision,
    because: ({ because }) => because,
    'held since': ({ field }) => showTime(holdOn(field)?.since),
    until: ({ field }) => showTime(holdOn(field)?.until),
    edit: ({ field }) => holdOn(field)?.edit_id,
  };
  printRows(context, columns, explanation.fields);
  for (const command of commands) line(`To decide it: ${sayEither(command, as)}`);
  if (openPush !== null) {
    const sent = Object.keys(openPush.intent.sent) as Field[];
    line(
      `Open push of ${sent.map(columnOf).join(', ')}: written down by run ${openPush.runId} at ${showTime(openPush.openedAt)}, outcome not known`,
    );
  }
  if (moves.length > 0) printRows(context, ledgerColumns, moves);
  printLine(context.out, `${paint(context, 'bold', 'Next:')} ${printable(next)}`);
}
