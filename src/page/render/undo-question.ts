/** Asks before a decision is taken back, and shows what is set back, what waits again and what is left alone. */
import type { FollowedDecision } from '../read/page-decided.ts';
import type { Sending } from '../read/page-waiting-view.ts';
import type { Id } from '../../model/id.ts';
import { printable } from '../../model/in-words.ts';
import { mostOfDecision, perRequest } from '../../model/waiting-page.ts';
import { commandBox } from './components.ts';
import { byWhom, fieldName, fieldsOf, rowsInWords } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, to } from './links.ts';
import { sides } from './pills.ts';
import { asking, fieldsFact, inPlaceOf, leftRows, movesTable, namedRows, sentBy } from './question.ts';
import { deedOf } from './receipt-words.ts';
import { nothingCard } from './receipt.ts';
import { knownAs, value } from './three-values.ts';
import { type PageContext, type PageShown, teamOf } from './view.ts';
import { clockTime, count, many, named, visible } from './words.ts';

interface FieldOfUser {
  readonly userId: Id;
  readonly name: string;
  readonly field: string;
}

export interface UndoQuestion {
  readonly decided: FollowedDecision;
  /** Fields that get their earlier values back in the mirror. */
  readonly back: readonly (FieldOfUser & { readonly from: unknown; readonly to: unknown })[];
  /** Edits that nothing has become of yet, which wait again. */
  readonly undecided: readonly (FieldOfUser & { readonly from: unknown })[];
  readonly left: readonly (FieldOfUser & { readonly reason: string })[];
  /** Whether what is set back passes the limits; otherwise it is an edit like any other. */
  readonly isLetPass: boolean;
  readonly sending: Sending;
  /** The name of each row in the form. */
  readonly keys: readonly string[];
  /** The rows that have moved since they were shown, so that nothing was done; `null` the first time it is asked. */
  readonly moved: {
    readonly rows: readonly (FieldOfUser & { readonly reason: string })[];
    readonly shown: number;
    readonly why: string;
  } | null;
}

/** It is `Undo` if the service or the mirror has something of it by now. What has not left is taken back. */
const verbOf = ({ back }: UndoQuestion): string => (back.length === 0 ? 'Take back' : 'Undo');

function titleOf({ details }: PageContext, question: UndoQuestion): string {
  const { back, undecided, left } = question;
  const n = back.length + undecided.length;
  const verb = verbOf(question);
  const [only] = [...back, ...undecided];
  if (only === undefined) return 'None of it can be undone';
  const leave =
    left.length === 0 ? '' : `, leave ${count(left.length)} as ${left.length === 1 ? 'it is' : 'they are'}`;
  if (n === 1)
    return `${verb} the ${fieldName(only.field)} of ${details && only.name !== '' ? printable(only.name) : only.userId}${leave}?`;
  return left.length === 0
    ? `${verb} ${rowsInWords(fieldsOf([...back, ...undecided]))}?`
    : `${verb} ${count(n)} of ${count(n + left.length)}${leave}?`;
}

function leadOf({ back, undecided, left, isLetPass }: UndoQuestion): string {
  const users = new Set(back.map(({ userId }) => userId)).size;
  const [them, wait] = undecided.length === 1 ? ['it', 'waits'] : ['them', 'wait'];
  const sends = isLetPass
    ? `The next run sends ${back.length === 1 ? 'it' : 'them'}, in ${many(Math.ceil(users / perRequest), 'request')}.`
    : 'The next run looks at each as at any other edit: where edits wait for an approval, these do.';
  return [
    ...(back.length === 0
      ? []
      : [
          `The mirror gets ${many(back.length, 'earlier value')}, as ${back.length === 1 ? 'an edit' : 'edits'} of yours. ${sends}`,
        ]),
    ...(undecided.length === 0
      ? []
      : [
          `${many(undecided.length, 'edit')} ${wait} undecided again, and nothing of ${them} is sent before somebody decides.`,
        ]),
    ...(left.length === 0 ? [] : [`What has moved since is left as it is.`]),
  ].join(' ');
}

const reasons = (
  context: PageContext,
  { teamId }: FollowedDecision,
  rows: readonly (FieldOfUser & { readonly reason: string })[],
) =>
  rows.map((row) => ({
    ...row,
    teamId,
    into: html`<span class="quiet">${context.details ? visible(row.reason) : visible(row.reason.split(':')[0] ?? '')}</span>`,
  }));

/** Says that nothing was done and what has moved, above what could be done now. */
function movedCard(context: PageContext, { decided, moved, keys }: UndoQuestion): Html {
  if (moved === null) return none;
  const { rows, shown, why } = moved;
  const again = keys.length === 0 ? '' : ' What can be undone now stands below; look at it and press again.';
  const words =
    rows.length === 0
      ? visible(why)
      : shown === 1
        ? html`It has moved while you looked.${again}`
        : html`${count(rows.length)} of the ${count(shown)} rows ${rows.length === 1 ? 'has' : 'have'} moved while you looked.${again}`;
  return nothingCard(
    html`${words}${namedRows(context, reasons(context, decided, rows))}`,
    'Nothing was undone.',
  );
}

export function undoQuestion(context: PageContext, question: UndoQuestion): PageShown {
  const { decided, back, undecided, left, isLetPass, sending, keys } = question;
  const { number, teamId, at, why } = decided;
  const rows = [...back, ...undecided];
  const { team } = teamOf(context, teamId);
  const again = html`<span class="quiet">waits undecided again</span>`;
  const moves = [
    ...back.map((row) => ({
      ...row,
      teamId,
      into: inPlaceOf(context, { of: { ...row, teamId }, from: row.from, to: row.to, side: 'mirror' }),
    })),
    ...undecided.map((row) => ({
      ...row,
      teamId,
      into: html`${value(context, row.field, knownAs(context, { ...row, teamId }, row.from))} <span aria-label="to">→</span> ${again}`,
    })),
  ];
  const head =
    back.length === 0
      ? html`${sides.mirror} Decided → undecided`
      : html`${sides.mirror} Mirror now → ${sides.mirror} as before`;
  const n = left.length;
  const leftWords = html`<b>${n === 1 ? 'One is' : `${count(n)} are`} left as ${n === 1 ? 'it is' : 'they are'}.</b> ${n === 1 ? 'It has' : 'They have'} moved since, and nothing happens to ${n === 1 ? 'it' : 'them'} now.`;
  const sent = back.length === 0 ? 'Nothing is sent' : isLetPass ? sentBy(sending) : 'As any other edit';
  const reason = why === null || why === '' ? none : html`, “${named(why)}”`;
  const isTooMuch = keys.length > mostOfDecision;
  const command = isTooMuch
    ? html`<p>That is more than the page does at once.</p>${commandBox(commandOf(context, team, `undo --decision ${number}`))}`
    : none;
  const facts = html`<dl class="pairs"><dt>Decided</dt><dd>${deedOf(context, decided)} by ${byWhom(context, decided.by)} at ${clockTime(at, context.now)}${reason}</dd>${fieldsFact(rows)}<dt>Sent</dt><dd>${sent}</dd><dt>If one moves</dt><dd>Nothing is undone, and the page says which</dd></dl>`;
  const content = asking(context, {
    title: titleOf(context, question),
    lead: leadOf(question),
    before: movedCard(context, question),
    what: html`${rows.length === 0 ? none : movesTable(context, head, moves)}${leftRows(context, leftWords, reasons(context, decided, left))}`,
    facts: html`${rows.length === 0 ? none : facts}${command}`,
    path: '/waiting',
    values: { team, verb: 'Undo', decision: String(number), row: keys },
    deed: rows.length === 0 || isTooMuch ? null : html`${verbOf(question)} ${count(rows.length)}`,
    back: to(context, '/waiting', { done: String(number) }),
    hasUndo: false,
  });
  return question.moved === null ? content : { ...content, status: 409 };
}
