/** The rows of a list, each an edit of one field, with a tick if it can be decided about. */
import type { SeenTeam } from '../read/page-reader.ts';
import type { PageField, WaitingList } from '../read/page-waiting.ts';
import type { ListRead, PageWaiting } from '../read/page-waiting-view.ts';
import { mostWhole, ownKey } from '../../model/waiting-page.ts';
import { person, type TableRow, table } from './components.ts';
import { mayDecide, shownKey, type Verb } from './decide.ts';
import { byWhom, fieldName, listTitle } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { headOfThree, knownAs, three } from './three-values.ts';
import { type PageContext, teamOf } from './view.ts';
import { at, capital, visible } from './words.ts';

/** The possible decisions about it. The last one is the main button of a batch. */
export function verbsOf({ batch, state }: WaitingList): readonly Verb[] {
  if (batch !== null) return ['Reject', 'Approve'];
  // The service would refuse again what it has refused.
  return state === 'refused' ? ['service'] : ['mirror', 'service'];
}

/** A batch is ticked at first, and what one statement or one import edited. No side of a conflict is taken. */
const isTickedAtFirst = ({ batch, state, isOneEdit }: WaitingList): boolean =>
  batch !== null || (state === 'limit' && isOneEdit);

/** A list together with what the page needs to show it. */
export interface ListOnPage {
  readonly read: PageWaiting;
  readonly list: ListRead;
  readonly context: PageContext;
  readonly team: SeenTeam;
  /** Whether rows have ticks, and a bar below them that decides about these. */
  readonly isDecided: boolean;
}

export function listOnPage(read: PageWaiting, list: ListRead, context: PageContext): ListOnPage {
  const team = teamOf(context, list.teamId);
  const isWhole = read.isAlone || list.rows <= mostWhole;
  return {
    read,
    list,
    context,
    team,
    isDecided: isWhole && verbsOf(list).length > 0 && mayDecide(context, team.team),
  };
}

export const isOwn = ({ read }: ListOnPage, row: PageField): boolean => read.own.has(ownKey(row));

/** Whether the address says that it is ticked: by `all`, `none`, or the rows that were ticked before. */
function isTicked(standing: ListOnPage, row: PageField): boolean {
  const ticks = standing.context.query.get('ticks');
  if (isOwn(standing, row)) return false;
  if (ticks === null) return isTickedAtFirst(standing.list);
  return ticks === 'all' || ticks.split(',').includes(shownKey(row));
}

/** Whether it was ticked, and is another edit or is compared with another value by now. */
function hasMoved({ context }: ListOnPage, row: PageField): boolean {
  const key = shownKey(row);
  const before = key.slice(0, key.lastIndexOf('.') + 1);
  const shownBefore = (context.query.get('ticks') ?? '').split(',');
  return !shownBefore.includes(key) && shownBefore.some((shown) => shown.startsWith(before));
}

function tickOf(standing: ListOnPage, row: PageField, personName: string): Html {
  const { isDecided } = standing;
  if (!isDecided) return none;
  const key = shownKey(row);
  const what = `Decide about the ${fieldName(row.field)} of ${personName}`;
  if (isOwn(standing, row))
    return html`<label><input type="checkbox" disabled aria-label="${what}" aria-describedby="own-${key}"></label>`;
  return html`<label><input type="checkbox" name="row" value="${key}"${isTicked(standing, row) ? html` checked` : none} aria-label="${what}"></label>`;
}

/** The note below the values of a row. */
function noteOf(standing: ListOnPage, row: PageField): Html {
  if (standing.isDecided && isOwn(standing, row))
    return html`<span id="own-${shownKey(row)}">Your own edit. Somebody else has to approve it.</span> <button class="linked" name="withdraw" value="${shownKey(row)}">Withdraw it</button>`;
  if (hasMoved(standing, row))
    return html`<b>It was edited, or has moved on the service, while you looked.</b>`;
  if (row.reason !== 'refused' || (row.detail === '' && row.requestId === null)) return none;
  return html`${row.detail === '' ? none : html`${visible(capital(row.detail))}. `}${row.requestId === null ? none : html`X-Request-Id <code>${row.requestId}</code>`}`;
}

function rowsOf(standing: ListOnPage): readonly TableRow[] {
  const { list, context } = standing;
  const isMany = list.fields.length > 1;
  const hasEditors = list.editors.length > 1;
  return list.shown.flatMap((row): readonly TableRow[] => {
    const { userId, field, editedAt, editedBy } = row;
    const personName =
      userId === null
        ? html`all users`
        : person(context, list.teamId, { id: userId, name: row.name, withId: true });
    const edited = html`${hasEditors && editedBy !== null ? html`${byWhom(context, editedBy)} ` : none}${editedAt === null ? none : at(editedAt, context.now)}`;
    const tick = tickOf(standing, row, userId?.toString() ?? 'all users');
    const note = noteOf(standing, row);
    const id = userId === null ? {} : { id: `c-${userId}-${field}` };
    const cells = [
      tick,
      personName,
      ...(isMany ? [html`${fieldName(field)}`] : []),
      ...three(
        context,
        {
          field,
          base: knownAs(context, row, row.base),
          mirror: knownAs(context, row, row.mirror),
          service: knownAs(context, row, row.service),
        },
        'same',
      ),
      edited,
    ];
    return [{ cells, ...id }, ...(note === none ? [] : [{ details: note }])];
  });
}

export function rowsTable(standing: ListOnPage): Html {
  const { read, list, context } = standing;
  const [base, mirror, service] = headOfThree;
  const by = (sort: string) => (read.isAlone ? { sort } : {});
  return table(context, {
    caption: listTitle(list),
    kind: 'rows',
    sort: 'edited',
    columns: [
      { label: '' },
      { label: 'Person', ...by('person') },
      ...(list.fields.length > 1 ? [{ label: 'Field', ...by('field') }] : []),
      { label: base, short: 'Last agreed' },
      { label: html`<span aria-hidden="true">→ </span>${mirror}`, short: 'Mirror' },
      { label: service, short: 'Service' },
      { label: 'Edited', ...by('edited') },
    ],
    rows: rowsOf(standing),
  });
}
