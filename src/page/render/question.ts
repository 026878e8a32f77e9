/** The page that asks for confirmation of a decision. It shows what will happen, and the form that does it. */
import { printable } from '../../model/in-words.ts';
import { mostOfDecision, perRequest } from '../../model/waiting-page.ts';
import type { FieldOnHold, Sending } from '../read/page-waiting.ts';
import { heading, person, table } from './components.ts';
import { type FormValues, postForm, type Verb, verbs } from './decide-form.ts';
import { editorsIn, fieldName, fieldsInWords, tallyOf } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import { changed, value } from './three-values.ts';
import type { PageContext, PageShown } from './view.ts';
import { count, fromTo, many, named } from './words.ts';

/** A field that the decision is about. It has no hold, because undoing a run also concerns fields that are not held. */
type AskedField = Omit<FieldOnHold, 'reason' | 'detail' | 'since' | 'batch' | 'editId' | 'requestId'>;

export interface Question {
  readonly verb: Verb;
  /** The fields that the decision is about; empty for missing rows of a listing. */
  readonly rows: readonly AskedField[];
  readonly number: number;
  readonly all: number;
  /** A sentence about the rows that this decision leaves unchanged; empty if it decides all rows. */
  readonly besides: string;
  readonly sending: Sending;
  readonly values: FormValues;
  readonly back: string;
}

const means: Readonly<Record<Verb, string>> = {
  approve:
    'The next run sends what stands at the right. The approval is for these edits alone, and lets each pass once; one that moves before it is sent waits again.',
  putBack: 'The mirror gets back what both sides last agreed on; nothing is sent.',
  withdraw: 'The mirror gets back what both sides last agreed on; nothing is sent.',
  undo: 'The mirror gets the values from before the run, as edits of yours. The next run sends them if nobody else has to approve them.',
  reject: 'Held as rejected: the mirror keeps it, and nothing is sent before somebody edits it again.',
  mirror: 'The next run sends the value of the mirror in the place of what the service shows now.',
  service:
    'The mirror gets the value of the service; nothing is sent. What was edited here is kept in the history.',
  value:
    'The mirror gets this value as an edit of yours, and the next run looks at it as at any other edit: where edits wait for an approval, this one does.',
};

const sidesOf = (verb: Verb): readonly ['mirror' | 'service', 'mirror' | 'service' | 'base'] =>
  verb === 'service'
    ? ['mirror', 'service']
    : verb === 'putBack' || verb === 'withdraw' || verb === 'undo'
      ? ['mirror', 'base']
      : ['service', 'mirror'];

function movesTable(context: PageContext, rows: readonly AskedField[], verb: Verb): Html {
  const [from, to] = sidesOf(verb);
  return table(context, {
    caption: 'What it is about',
    foot: rows.length > mostOfDecision && html`The first ${count(mostOfDecision)} of ${count(rows.length)}`,
    columns: ['Person', 'Field', from === 'mirror' ? 'Mirror now' : 'Service now', 'Then'],
    rows: rows.slice(0, mostOfDecision).map((row) => ({
      cells: [
        person(context, row.teamId, { id: row.userId, name: row.name }, true),
        fieldName(row.field),
        value(context, row, row[from]),
        changed(context, row, {
          to: row[to],
          from: row[from],
          side: to === 'service' ? 'service' : 'mirror',
        }),
      ],
    })),
  });
}

function facts(context: PageContext, { verb, rows, sending }: Question): Html {
  const editors = tallyOf(rows, ({ editedBy }) => editedBy);
  const fields = tallyOf(rows, ({ field }) => field);
  const times = rows.flatMap(({ editedAt }) => editedAt ?? []).toSorted((a, b) => Number(a) - Number(b));
  const [first, last = first] = [times[0], times.at(-1)];
  const when = first === undefined || last === undefined ? '' : `, ${fromTo(first, last, context.now)}`;
  const users = new Set(rows.map(({ userId }) => userId)).size;
  const requests = many(Math.ceil(users / perRequest), 'request');
  const sent = sending.listens
    ? `Sent at once, by the daemon, in ${requests}`
    : `Sent by the next run, in ${requests}; no daemon runs`;
  const isSent = verb === 'approve' || verb === 'mirror';
  const edited = verb !== 'undo' && html`<p>Edited by ${editorsIn(context, { editors })}${when}</p>`;
  return html`<p>${fieldsInWords(fields, rows.length)}, of ${many(users, 'person', 'people')}</p>${edited}<p>${isSent ? sent : verb === 'value' || verb === 'undo' ? 'Sent as any other edit' : 'Nothing is sent'}</p>`;
}

/** The title, such as `Approve 4 of 65?` or `Take the mirror’s email of Ada Berg?` */
function titleOf({ details }: PageContext, { verb, rows, number, all }: Question): string {
  const [first] = rows;
  if (number > 1 || first === undefined)
    return `${verbs[verb]} ${count(number)}${number === all ? '' : ` of ${count(all)}`}?`;
  const name = details && first.name !== null ? printable(first.name) : String(first.userId);
  const what = `${fieldName(first.field)} of ${name}`;
  if (verb === 'value') return `Another ${what}?`;
  return `${verbs[verb]} ${verb === 'mirror' || verb === 'service' ? '' : 'the '}${what}?`;
}

const typedInto = (field: string): Html =>
  html`<label class="field"><span class="label">The ${fieldName(field)} that is to stand${field === 'name' ? ', as first | last' : ''}</span><input name="value" maxlength="1000" autocomplete="off"></label>`;

/** A separate page, with the changes on the left and the form on the right. */
export function confirmation(context: PageContext, question: Question): PageShown {
  const { verb, rows, number, besides, values, back } = question;
  const title = titleOf(context, question);
  const typed = verb === 'value' ? typedInto(rows[0]?.field ?? '') : none;
  const deed = verb === 'value' ? 'Make this edit' : `${verbs[verb]} ${count(number)}`;
  const form = postForm(
    context,
    { ...values, confirmed: 'yes' },
    html`${rows.length === 0 ? none : facts(context, question)}${typed}<label class="field"><span class="label">Reason, kept with the decision</span><textarea name="why" rows="3" required maxlength="1000" autocomplete="off"></textarea></label><div class="row buttons"><button class="button main">${deed}</button><a class="button" href="${back}">Back</a></div><p class="note">Recorded as <b>${named(context.decide?.actor ?? '')}</b>, with the reason.</p>`,
    html` class="card stack"`,
  );
  const left =
    rows.length === 0 ? none : html`<div class="card flush">${movesTable(context, rows, verb)}</div>`;
  const says =
    rows.length === 0 ? 'The next complete run calls them gone, if they are missing still.' : means[verb];
  const way = html`<p class="note"><a href="${to(context, '/waiting')}">Waiting</a></p>`;
  return {
    title,
    main: html`${heading(title, `${says} ${besides}`.trim(), way)}<div class="${left === none ? 'stack' : 'columns'}" data-still>${left}${form}</div>`,
  };
}
