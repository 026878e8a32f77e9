/** The forms to leave fields of somebody alone for a while, and to end that. Both open in place, since they send nothing. */
import { editStates, holdReasons } from '../../model/edit-state.ts';
import type { HeldRow } from '../../mirror/users/held.ts';
import type { PersonRead } from '../read/page-person.ts';
import { choice } from './components.ts';
import { hidden, mayDecide } from './decide.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, href, to } from './links.ts';
import type { PageContext } from './view.ts';
import { clockTime, day, listed, named, time, weekday } from './words.ts';

const holdColumns = ['name', 'email', 'phone', 'role_id'] as const;

/** A form that somebody has opened or sent, for a field or for `all` of them. */
export interface HoldRequest {
  readonly deed: 'hold' | 'end';
  readonly field: string;
  /** A period together with the moment that was shown, or `at`, for the date and time in `at`. */
  readonly until: string;
  readonly at: string;
  readonly why: string;
  /** The reason why it was not done. */
  readonly refusal: string | undefined;
}

/** Reads `?hold=phone` or `?end=phone`. Nothing is open if neither names a field. */
function readHoldRequest({ query }: Pick<PageContext, 'query'>): HoldRequest | undefined {
  const open = (['hold', 'end'] as const).find((deed) => isHoldField(query.get(deed)));
  return open && { deed: open, field: query.get(open) ?? '', until: '', at: '', why: '', refusal: undefined };
}

export const isHoldField = (text: string | null): boolean =>
  text === 'all' || holdColumns.some((column) => column === text);

const dayMs = 86_400_000;
const minuteMs = 60_000;
const stretches = [
  { key: '3d', days: 3, words: '3 days' },
  { key: '1w', days: 7, words: 'a week' },
] as const;

const fieldWords = (field: string): string => (field === 'all' ? 'all four' : fieldName(field));

const formOf = (context: PageContext, team: string, inside: Html): Html =>
  html`<form class="part row form hold" id="hold" method="post" action="${to(context, context.path)}" data-still>${hidden('token', context.decide?.token(context.path) ?? '')}${hidden('team', team)}${inside}<a class="note" href="${href(context, { hold: null, end: null })}">Close</a></form>`;

/** The style sheet shows the words of the button that fit the choice. */
function holdForm(context: PageContext, team: string, request: HoldRequest): Html {
  const { now } = context;
  const begin = Math.ceil(now.getTime() / minuteMs) * minuteMs;
  const [chosen = ''] = request.until.split(' ');
  const isChosen = (key: string) => (chosen === '' ? key === '3d' : key === chosen);
  const ends = stretches.map((stretch) => ({ ...stretch, end: new Date(begin + stretch.days * dayMs) }));
  const fields = [...holdColumns, 'all'].map(
    (field) =>
      html`<option value="${field}"${field === request.field ? html` selected` : none}>${fieldWords(field)}</option>`,
  );
  const radio = (key: string, value: string, label: Html) =>
    html`<label><input type="radio" name="until" value="${value}"${isChosen(key) ? html` checked` : none}> ${label}</label>`;
  const until = ends.map(({ key, days, words, end }) => {
    const when = days === 3 ? clockTime(end, now) : day(end, now);
    return radio(key, `${key} ${end.toISOString()}`, time(end, `${weekday(end)} ${when} (${words})`));
  });
  const other = html`<span class="away">Another date and time, in UTC</span><input type="datetime-local" name="at" value="${request.at}" aria-label="Date and time, in UTC"> UTC`;
  const button = html`<button class="button main" name="deed" value="hold">Hold ${[...holdColumns, 'all'].map((field) => html`<span class="of-${field}">${fieldWords(field)}</span>`)} until ${ends.map(({ key, end }) => html`<span class="to-${key}">${clockTime(end, now)}</span>`)}<span class="to-at">then</span></button>`;
  return formOf(
    context,
    team,
    html`<label class="field"><span class="label">Field</span><select name="field">${fields}</select></label><fieldset class="row"><legend class="label">Until</legend>${until}${radio('at', 'at', other)}</fieldset><label class="field why-held"><span class="label">Reason, kept with the hold</span><input name="why" required maxlength="1000" autocomplete="off" value="${request.why}"></label>${button}`,
  );
}

function endForm(context: PageContext, team: string, fields: readonly string[]): Html {
  const words = listed(fields.map(fieldName));
  return formOf(
    context,
    team,
    html`${fields.map((field) => hidden('field', field))}<p>The next run looks at the ${words} again: what was changed is sent or taken then, and what waited for somebody waits again.</p><button class="button" name="deed" value="end">End the hold of the ${words} now</button>`,
  );
}

/** A link that the script opens in place. */
const opener = (context: PageContext, change: Readonly<Record<string, string | null>>, words: string): Html =>
  html`<a class="button" href="${href(context, { hold: null, end: null, ...change })}#hold" data-open>${words}…</a>`;

/** Fields that are held with the same words until the same moment are shown together. */
const together = (rows: readonly HeldRow[]): readonly (readonly HeldRow[])[] => {
  const [first] = rows;
  const isSame = (row: HeldRow) =>
    first !== undefined &&
    row.until?.getTime() === first.until?.getTime() &&
    row.asked_by === first.asked_by &&
    row.detail === first.detail;
  return rows.length > 1 && rows.every(isSame) ? [rows] : rows.map((row) => [row]);
};

function heldAlready(
  context: PageContext,
  { id }: PersonRead,
  team: string,
  holds: readonly HeldRow[],
  open: HoldRequest | undefined,
): Html {
  const [first] = holds;
  if (first === undefined) return none;
  const { now, details } = context;
  const { until, asked_by: by, detail: why } = first;
  const fields = holds.map(({ field }) => field);
  const isAll = fields.length > 1;
  const key = isAll ? 'all' : first.field;
  const author = by === null ? none : html` by ${named(by)}`;
  const reason = why === '' || !details ? none : html`, “${named(why)}”`;
  const again = holds.flatMap(({ field, held_before: was }) =>
    was === null
      ? []
      : [`${fieldName(field)} ${was === 'rejected' ? editStates[was] : holdReasons[was].words}`],
  );
  const rest = again.length === 0 ? '' : `; then as before: ${again.join(', ')}`;
  const title = html`Held until ${until === null ? 'it is ended' : time(until, clockTime(until, now))}${author}${reason}`;
  const words = isAll ? `hold ${id} --end` : `hold ${id} ${first.field} --end`;
  const isOpen = open?.deed === 'end' && open.field === key;
  const button = mayDecide(context, team) ? opener(context, { end: key }, 'End it now') : none;
  return html`${choice(title, `${listed(fields.map(fieldName))}: nothing is sent or taken until then${rest}`, commandOf(context, team, words), button)}${isOpen && mayDecide(context, team) ? endForm(context, team, fields) : none}`;
}

/** The fields that are held on request, and the choice to hold, whether anything waits or not. */
export function holdChoices(
  context: PageContext,
  read: PersonRead,
  team: string,
  open = readHoldRequest(context),
): Html {
  const { id, held } = read;
  const requestedHolds = holdColumns.flatMap((column) =>
    held.filter((hold) => hold.reason === 'asked' && hold.field === column),
  );
  const others = held.filter(({ reason }) => reason !== 'asked');
  const field = others[0]?.field ?? 'all';
  const words = field === 'all' ? `hold ${id}` : `hold ${id} ${field}`;
  const may = mayDecide(context, team);
  const now = together(requestedHolds).map((holds) => heldAlready(context, read, team, holds, open));
  const hold = choice(
    'Leave it alone for a while',
    'nothing is sent or taken until then, whatever changes',
    commandOf(context, team, `${words} --until 3d --reason '…'`),
    may ? opener(context, { hold: field }, 'Hold') : none,
  );
  return html`${now}${hold}${may && open?.deed === 'hold' ? holdForm(context, team, open) : none}`;
}
