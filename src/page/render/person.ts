/** One person: three versions of each field, the reasons, what is next, what can be decided, and what was before. */
import { isApprovable } from '../../model/user-plan.ts';
import type { HeldRow } from '../../mirror/users/held.ts';
import type { PersonRead } from '../read/page-person.ts';
import { editStates, holdReasons, needsDecision } from '../../model/edit-state.ts';
import { printable } from '../../model/in-words.ts';
import { isCopy } from './banner.ts';
import { choice, heading, table } from './components.ts';
import { asSeen, barredNote, takeButton } from './decide.ts';
import { fieldName, fieldTitle } from './hold-words.ts';
import { type HoldRequest, holdChoices } from './hold-form.ts';
import { type Html, html, none } from './html.ts';
import { commandOf, to } from './links.ts';
import { personHistory } from './person-history.ts';
import { pill } from './pills.ts';
import { nothingCard } from './receipt.ts';
import { headOfThree, isShown, textOf, three } from './three-values.ts';
import { type PageContext, type PageShown, teamOf } from './view.ts';
import { at, capital, clockTime, day, named, time, visible } from './words.ts';

type Column = 'name' | 'email' | 'phone' | 'role_id';
const columns: readonly Column[] = ['name', 'email', 'phone', 'role_id'];

/** `undefined` if that version does not exist. A role is shown with its name. */
function versionsOf({ state, roleNames }: PersonRead, field: Column) {
  const { base, mirror, service } = state;
  if (field !== 'role_id') return { base: base?.[field], mirror: mirror?.[field], service: service?.[field] };
  const named = (id: unknown) => {
    const name = typeof id === 'bigint' ? roleNames.get(id) : undefined;
    return name === undefined ? id : `${id} ${name}`;
  };
  return { base: named(base?.roleId), mirror: named(mirror?.roleId), service: named(service?.roleId) };
}

function heldState(context: PageContext, hold: HeldRow): Html {
  const { now } = context;
  const since = html`<span class="note">${holdReasons[hold.reason].words}, since ${at(hold.since, now)}</span>`;
  if (hold.reason === 'asked')
    return html`${pill('clock', 'dim', hold.until === null ? 'Held' : html`Held until ${time(hold.until, clockTime(hold.until, now))}`)}${since}`;
  if (hold.state === 'rejected')
    return html`${pill('pause', 'dim', capital(editStates.rejected))}<span class="note">${hold.decided_by === null ? '' : `by ${hold.decided_by}`}</span>`;
  return html`${pill('alarm', 'act', capital(editStates[hold.state]))}${since}`;
}

function stateOf(context: PageContext, read: PersonRead, field: Column): Html {
  const { row, state, held } = read;
  const hold = held.find((row) => row.field === field);
  if (row.gone_at !== null) return pill('cross', 'dim', 'Left');
  if (hold !== undefined) return heldState(context, hold);
  if (!row.resolved || state.base === undefined) return pill('dashed', 'dim', 'Unresolved');
  const { base, mirror } = versionsOf(read, field);
  if (textOf(base) !== textOf(mirror))
    return state.hasOpenIntent
      ? pill('clock', 'dim', capital(editStates.unknown))
      : pill('clock', 'dim', 'Goes with the next run');
  const halves =
    field === 'name' && row.last_name !== '' && isShown(context, 'name')
      ? html`<span class="note">halves ${row.name_split}: ${named(row.first_name)} | ${named(row.last_name)}</span>`
      : none;
  return html`${pill('tick', 'ok', 'Equal')}${halves}`;
}

function versions(context: PageContext, read: PersonRead): Html {
  const { state, row } = read;
  const notKnown = html`<span class="none">not known</span>`;
  const rows = columns.map((field) => {
    const values = versionsOf(read, field);
    const [base, mirror, service] = three(context, { field, ...values }, 'same');
    return {
      cells: [
        fieldName(field),
        state.base === undefined ? notKnown : base,
        mirror,
        row.gone_at !== null
          ? html`<span class="none">gone</span>`
          : state.service === undefined
            ? notKnown
            : service,
        stateOf(context, read, field),
      ],
      id: `c-${read.id}-${field}`,
    };
  });
  const [base, mirror, service] = headOfThree;
  return table(context, {
    caption: 'The three versions of each field',
    columns: [
      { label: 'Field' },
      { label: base, short: 'Last agreed' },
      { label: mirror, short: 'Mirror' },
      { label: service, short: 'Service' },
      { label: 'State' },
    ],
    rows,
  });
}

function choicesOf(context: PageContext, { id }: PersonRead, team: string, hold: HeldRow): Html {
  const { field, batch } = hold;
  const command = (words: string) => commandOf(context, team, words);
  const shownField = {
    userId: id,
    field,
    editId: hold.edit_id,
    mirror: hold.mirror_value,
    service: hold.service_value,
  };
  const take = (verb: 'mirror' | 'service' | 'value') =>
    takeButton(context, { team, state: hold.reason, shown: shownField, verb });
  const seen = asSeen(context, shownField);
  const word = fieldName(field);
  const inWords = (shownValue: unknown) =>
    isShown(context, field)
      ? html`<bdi class="value">${visible(textOf(shownValue) ?? 'none')}</bdi>`
      : 'its value';
  if (batch !== null && needsDecision(hold) && isApprovable(hold.reason)) {
    const all = html`the ${word}; others wait in the <a href="${to(context, `/waiting/${batch}`)}">same batch</a>`;
    return html`${choice('Meant so', html`the next run sends ${all}`, command(`approve ${batch} --only ${id}.${field} --reason '…'`))}${choice('Not meant so', 'it stays in the mirror and is held as rejected', command(`reject ${batch} --only ${id}.${field} --reason '…'`))}`;
  }
  const mirror = choice(
    `Take the mirror’s ${word}`,
    html`the next run sends ${inWords(hold.mirror_value)}`,
    command(`resolve ${id} ${field} --take mirror${seen}`),
    take('mirror'),
  );
  const service = choice(
    `Take the service’s ${word}`,
    html`the mirror gets ${inWords(hold.service_value)}`,
    command(`resolve ${id} ${field} --take service${seen}`),
    take('service'),
  );
  const another = choice(
    'Send another value',
    'an edit like any; it goes in the place of the dots',
    command(`resolve ${id} ${field} --take '…'`),
    take('value'),
  );
  // The service would refuse again what it has refused.
  return html`${hold.reason === 'refused' ? another : mirror}${service}`;
}

/** The reasons, and what happens next, as `musterd why` says it, by what a run last saw. */
function why(context: PageContext, read: PersonRead, team: string): Html {
  const { held, state, row } = read;
  const explained = context.explain(team, read);
  const reasons = held
    .filter(({ reason, detail }) => detail !== '' && reason !== 'asked')
    .map(
      ({ field, detail }) =>
        html`<p>${fieldTitle(field)}: ${context.details ? visible(detail) : 'held, for a reason that names values'}.</p>`,
    );
  const isEqual =
    held.length === 0 &&
    state.service !== undefined &&
    columns.every((field) => textOf(versionsOf(read, field).base) === textOf(versionsOf(read, field).mirror));
  const next =
    explained === null
      ? none
      : html`<p>${row.gone_at === null && isEqual ? 'Nothing happens next: both sides agree.' : visible(explained)}</p>`;
  const note = html`<p class="note">As a run last saw the service. <code>${commandOf(context, team, `why ${read.id}`)}</code> asks it now.</p>`;
  return html`<div class="part why"><h2 class="h3">Why, and what happens next</h2>${reasons}${next}${note}</div>`;
}

function lead(context: PageContext, { id, row, periods }: PersonRead): Html {
  const { now, details } = context;
  const role = [row.role_id, row.role].filter((part) => part !== null).join(' ');
  const first = periods.at(-1);
  const since = row.created_at ?? first?.valid_from ?? null;
  // A person whom the first run took over was there before, for an unknown time.
  const where = row.created_at === null && first?.side === null ? 'in the mirror' : 'in the team';
  const parts = [
    ...(details ? [html`<span class="mono">${id}</span>`] : []),
    ...(role === '' ? [] : [named(role)]),
    ...(row.gone_at === null ? [] : [html`has left, seen on ${time(row.gone_at, day(row.gone_at, now))}`]),
    ...(since === null ? [] : [html`${where} since ${time(since, day(since, now))}`]),
    ...(row.edited_at === null
      ? []
      : [html`last edited here ${at(row.edited_at, now)} by ${named(row.edited_by ?? '')}`]),
  ];
  return html`${parts.map((part, i) => html`${i === 0 ? '' : ' · '}${part}`)}`;
}

/** @param request what was asked for and has not been done */
export function onePerson(read: PersonRead, context: PageContext, request?: HoldRequest): PageShown {
  const { id, row, held, teamId } = read;
  const { team } = teamOf(context, teamId);
  const title = context.details && row.name !== '' ? named(row.name) : html`<span class="mono">${id}</span>`;
  const before = html`<p class="note"><a href="${to(context, '/people')}">People</a></p>`;
  const mayAct = row.gone_at === null && !isCopy(context);
  const others = held.filter(({ reason }) => reason !== 'asked');
  const choices = mayAct
    ? html`${others.map((hold) => choicesOf(context, read, team, hold))}${holdChoices(context, read, team, request)}`
    : none;
  const act = mayAct && held.some(needsDecision) ? ' act-bar' : '';
  const barred = mayAct && held.length > 0 ? barredNote(context, [team]) : none;
  const card = html`<div class="card flush person${act}">${versions(context, read)}${why(context, read, team)}${barred}${choices}</div>`;
  const refused = request?.refusal === undefined ? none : nothingCard(`${request.refusal}.`);
  const main = html`${refused}${heading(title, lead(context, read), before)}${card}${personHistory(context, read)}`;
  return { title: context.details ? printable(row.name) || `${id}` : `${id}`, main };
}
