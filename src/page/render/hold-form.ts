/** The forms that hold fields of a user for a while, or end the hold. They send nothing, so they need no confirmation. */
import { editStates, holdReasons } from '../../model/edit-state.ts';
import { fieldColumns } from '../../model/fields.ts';
import type { HeldRow } from '../../mirror/users/held.ts';
import type { PersonRead } from '../read/page-person.ts';
import { mayDecide, postForm } from './decide-form.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import type { PageContext } from './view.ts';
import { at, clockTime, listed, named } from './words.ts';
import { dayMs, minuteMs, shownZone } from '../../model/zone-time.ts';

const fieldWords = (field: string): string => (field === 'all' ? 'all four' : fieldName(field));

/** The fields that one person holds until the same time for the same reason, and the button that ends the hold. */
function heldAlready(
  context: PageContext,
  { id }: PersonRead,
  team: string,
  holds: readonly HeldRow[],
): Html {
  const [first] = holds;
  if (first === undefined) return none;
  const { until, asked_by: by, detail: why } = first;
  const fields = holds.map(({ field }) => field);
  const before = holds.flatMap(({ field, held_before: was }) =>
    was === null
      ? []
      : [`${fieldName(field)} ${was === 'rejected' ? editStates[was] : holdReasons[was].words}`],
  );
  const words = html`Held until ${until === null ? 'it is ended' : at(until, context.now)}${by === null ? none : html` by ${named(by)}`}${why === '' || !context.details ? none : html`, “${named(why)}”`}`;
  const values = { team, user: `${id}`, field: fields, verb: 'end', confirmed: 'yes' };
  const end =
    mayDecide(context) && postForm(context, values, html`<button class="button">End it now</button>`);
  return html`<div class="part row"><div><h3>${words}</h3><p class="note">${listed(fields.map(fieldName))}: nothing is sent or taken until then${before.length === 0 ? '' : `; then as before: ${before.join(', ')}`}</p></div><span class="push"></span>${end}</div>`;
}

function holdForm(context: PageContext, id: bigint, team: string, field: string): Html {
  const begin = Math.ceil(context.now.getTime() / minuteMs) * minuteMs;
  const radio = (value: string, words: string, isFirst = false) =>
    html`<label><input type="radio" name="until" value="${value}"${isFirst ? html` checked` : none}> ${words}</label>`;
  const ends = [3, 7].map((days) => ({ days, end: new Date(begin + days * dayMs) }));
  const until = ends.map(({ days, end }, i) =>
    radio(`in ${end.toISOString()}`, `${clockTime(end, context.now)} (${days} days)`, i === 0),
  );
  const options = [...fieldColumns, 'all'].map(
    (one) =>
      html`<option value="${one}"${one === field ? html` selected` : none}>${fieldWords(one)}</option>`,
  );
  const inside = html`<label class="field"><span class="label">Field</span><select name="field">${options}</select></label><fieldset class="row"><legend class="label">Until</legend>${until}${radio('at', `another time, in ${shownZone()}`)}<input type="datetime-local" name="at" aria-label="Date and time, in ${shownZone()}"></fieldset><label class="field why-held"><span class="label">Reason, kept with the hold</span><input name="why" required maxlength="1000" autocomplete="off"></label><button class="button main">Hold until then</button>`;
  const values = { team, user: `${id}`, verb: 'hold', confirmed: 'yes' };
  return html`<details class="part"><summary>Leave it alone for a while: nothing is sent or taken until then</summary>${postForm(context, values, inside, html` class="row form hold" data-still`)}</details>`;
}

export function holdChoices(context: PageContext, read: PersonRead, team: string): Html {
  const asked = read.held.filter(({ reason }) => reason === 'asked');
  const together = Map.groupBy(asked, ({ until, asked_by: by, detail }) =>
    JSON.stringify([until, by, detail]),
  );
  const held = [...together.values()].map((holds) => heldAlready(context, read, team, holds));
  const field = read.held.find(({ reason }) => reason !== 'asked')?.field ?? 'all';
  return html`${held}${mayDecide(context) ? holdForm(context, read.id, team, field) : none}`;
}
