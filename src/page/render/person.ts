/** The view of one person: three versions of each field, the reasons, the next step, the decisions, and the history. */
import { editStates, holdReasons, needsDecision } from '../../model/edit-state.ts';
import { fieldColumns, fieldOf } from '../../model/fields.ts';
import { printable } from '../../model/in-words.ts';
import type { HeldRow } from '../../mirror/users/held.ts';
import type { PersonRead } from '../read/page-person.ts';
import { isCopy } from './banner.ts';
import { changesTable } from './ledger-view.ts';
import { heading, section, table } from './components.ts';
import { barredNote, mayDecide, postForm, shownKey, verbs, verbsOf } from './decide-form.ts';
import { holdChoices } from './hold-form.ts';
import { fieldName, fieldTitle, shownDetail, standingPill } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, to } from './links.ts';
import { pill } from './pills.ts';
import { headOfThree, isShown, type Side, textOf, version } from './three-values.ts';
import { type PageContext, type PageShown, teamOf } from './view.ts';
import { at, capital, named, visible } from './words.ts';

type Column = (typeof fieldColumns)[number];

function versionsOf({ state, teamId }: PersonRead, field: Column) {
  const { base, mirror, service } = state;
  const key = fieldOf(field);
  return { teamId, field, base: base?.[key], mirror: mirror?.[key], service: service?.[key] };
}

function heldState({ now }: PageContext, hold: HeldRow): Html {
  const since = html`<span class="note">${holdReasons[hold.reason].words}, since ${at(hold.since, now)}</span>`;
  if (hold.reason === 'asked')
    return html`${standingPill('asked')}<span class="note">${hold.until !== null && html`until ${at(hold.until, now)}, `}since ${at(hold.since, now)}</span>`;
  if (hold.state === 'rejected')
    return html`${standingPill('rejected')}<span class="note">${hold.decided_by === null ? '' : `by ${hold.decided_by}`}</span>`;
  return html`${pill('alarm', 'act', capital(editStates[hold.state]))}${since}`;
}

function stateOf(context: PageContext, read: PersonRead, field: Column): Html {
  const { row, state, held } = read;
  const hold = held.find((one) => one.field === field);
  if (row.gone_at !== null) return standingPill('left');
  if (hold !== undefined) return heldState(context, hold);
  if (!row.resolved || state.base === undefined) return standingPill('unresolved');
  const { base, mirror } = versionsOf(read, field);
  if (textOf(base) !== textOf(mirror))
    return state.hasOpenIntent ? pill('clock', 'dim', capital(editStates.unknown)) : standingPill('moving');
  const halves =
    field === 'name' && row.last_name !== '' && isShown(context, 'name')
      ? html`<span class="note">halves ${row.name_split}: ${named(row.first_name)} | ${named(row.last_name)}</span>`
      : none;
  return html`${standingPill('equal')}${halves}`;
}

function versions(context: PageContext, read: PersonRead): Html {
  const { state, row } = read;
  const notKnown = html`<span class="none">not known</span>`;
  const rows = fieldColumns.map((field) => {
    const shown = (which: 'base' | Side) => version(context, versionsOf(read, field), which);
    const there = row.gone_at === null ? shown('service') : html`<span class="none">gone</span>`;
    return {
      cells: [
        fieldName(field),
        state.base === undefined ? notKnown : shown('base'),
        shown('mirror'),
        row.gone_at === null && state.service === undefined ? notKnown : there,
        stateOf(context, read, field),
      ],
      id: `c-${read.id}-${field}`,
    };
  });
  return table(context, {
    caption: 'The three versions of each field',
    columns: ['Field', ...headOfThree.map((label) => ({ label })), 'State'],
    rows,
  });
}

/** The possible decisions about a held field. Each button leads to a confirmation. */
function choicesOf(context: PageContext, { id, teamId }: PersonRead, team: string, hold: HeldRow): Html {
  if (!needsDecision(hold) || !mayDecide(context)) return none;
  const { field, batch, edit_id: editId, mirror_value: mirror, service_value: service } = hold;
  const can = verbsOf({ batch, reasons: [{ what: hold.reason, rows: 1 }] });
  const others =
    batch === null ? none : html`<a class="note" href="${to(context, `/waiting/${batch}`)}">Its batch</a>`;
  const words = (verb: keyof typeof verbs) => (verb === 'value' ? 'Another value' : verbs[verb]);
  const buttons = [...can, 'value' as const].map(
    (verb) => html`<button class="button" name="verb" value="${verb}">${words(verb)}…</button>`,
  );
  const values = {
    team,
    batch: batch ?? '',
    rows: '1',
    ticks: 'on',
    row: shownKey({ userId: id, field, editId, mirror, service }),
  };
  return html`<div class="part row"><h3>${fieldTitle(field)}</h3>${postForm(context, values, html`${buttons}`, html` class="row buttons" id="of-${teamId}-${field}"`)}${others}</div>`;
}

/** The reasons and the next step, in the same words as `musterd why`, computed from the values that a run last saw. */
function why(context: PageContext, read: PersonRead, team: string): Html {
  const { held, id } = read;
  const reasons = held
    .filter(({ reason, detail }) => detail !== '' && reason !== 'asked')
    .map(({ field, detail }) => html`<p>${fieldTitle(field)}: ${visible(shownDetail(context, detail))}.</p>`);
  const explained = context.explain(team, read);
  const next = explained !== null && html`<p>${visible(shownDetail(context, explained))}</p>`;
  return html`<div class="part why"><h2 class="h3">Why, and what happens next</h2>${reasons}${next}<p class="note">As a run last saw the service. <code>${commandOf(context, team, `why ${id}`)}</code> asks it now.</p></div>`;
}

function lead({ now, details }: PageContext, { id, row }: PersonRead): Html {
  const role = [row.role_id, row.role].filter((part) => part !== null).join(' ');
  const parts = [
    details ? html`<span class="mono">${id}</span>` : none,
    role === '' ? none : named(role),
    row.gone_at === null ? none : html`has left, seen at ${at(row.gone_at, now)}`,
    row.created_at === null ? none : html`in the team since ${at(row.created_at, now)}`,
    row.edited_at === null
      ? none
      : html`last edited here ${at(row.edited_at, now)} by ${named(row.edited_by ?? '')}`,
  ].filter((part) => part !== none);
  return html`${parts.map((part, i) => html`${i === 0 ? '' : ' · '}${part}`)}`;
}

export function onePerson(read: PersonRead, context: PageContext): PageShown {
  const { id, row, held, teamId, history } = read;
  const { team } = teamOf(context, teamId);
  const title = context.details && row.name !== '' ? named(row.name) : html`<span class="mono">${id}</span>`;
  const before = html`<p class="note"><a href="${to(context, '/people')}">People</a></p>`;
  const isThere = row.gone_at === null && !isCopy(context);
  const choices = isThere
    ? html`${held.map((hold) => choicesOf(context, read, team, hold))}${holdChoices(context, read, team)}`
    : none;
  const waits = isThere && held.some(needsDecision);
  const barred = waits ? html`<div class="part">${barredNote(context)}</div>` : none;
  const card = html`<div class="card flush person${waits ? ' act-bar' : ''}">${versions(context, read)}${why(context, read, team)}${waits && mayDecide(context) ? none : barred}${choices}</div>`;
  const more = html`<a href="${to(context, '/changes', { q: id.toString() })}">Among all changes</a>`;
  const past = section(
    'History',
    changesTable(context, 'History, the newest first', history, { isOfOne: true }),
    { more },
  );
  return {
    title: context.details ? printable(row.name) || `${id}` : `${id}`,
    main: html`${heading(title, lead(context, read), before)}${card}${past}`,
  };
}
