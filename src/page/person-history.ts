/** What became of one person: values over time as lanes, and all that happened as a list. */
import type { ChangeRow } from '../mirror/page-changes.ts';
import type { PersonPeriod, PersonRead } from '../mirror/page-person.ts';
import { printable } from '../model/in-words.ts';
import { actorOf, fromAndTo } from './change-row.ts';
import { section } from './components.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { drawLane, joinValues, type LaneValue } from './lanes.ts';
import { to } from './links.ts';
import { sides } from './pills.ts';
import { lane } from './show-chart.ts';
import { isShown, textOf } from './three-values.ts';
import type { PageContext } from './view.ts';
import { clockTime, count, day, many, named, time } from './words.ts';

const lanes = ['name', 'email', 'phone', 'role'] as const;

function textIn(field: (typeof lanes)[number], period: PersonPeriod): string {
  if (field === 'role') return [period.role_id, period.role].filter((part) => part !== null).join(' ');
  return (
    (field === 'name' ? textOf({ first: period.first_name, last: period.last_name }) : period[field]) ?? ''
  );
}

/** Of the first period nobody changed anything: it is what the person came with. */
function valuesOf(
  field: (typeof lanes)[number],
  periods: readonly PersonPeriod[],
  now: Date,
): readonly LaneValue[] {
  const all = periods.map(
    (period, at): LaneValue => ({
      fromMs: period.valid_from.getTime(),
      toMs: (period.valid_to ?? now).getTime(),
      // Text of an SVG has no <bdi>: what reorders it is left out.
      text: printable(textIn(field, period)),
      side: at === 0 || period.side === null ? 'adopted' : period.side,
    }),
  );
  return joinValues(all).filter(({ text }) => text !== '');
}

const legend: Html = html`<p class="legend">${(
  [
    ['mirror', 'came from the mirror'],
    ['service', 'came from the service'],
    ['adopted', 'adopted'],
    ['held', 'held'],
  ] as const
).map(
  ([side, words]) =>
    html`<span><svg class="swatch" width="11" height="11" aria-hidden="true"><rect class="value-${side}" width="11" height="11" rx="2"/></svg> ${words}</span>`,
)}</p>`;

export function overTime(context: PageContext, { periods, held }: PersonRead): Html {
  const { now } = context;
  const inOrder = periods.toReversed();
  const [first] = inOrder;
  if (first === undefined) return none;
  const [fromMs, toMs] = [first.valid_from.getTime(), now.getTime()];
  const shown = lanes.map((field) => {
    const values = valuesOf(field, inOrder, now).map((value) =>
      isShown(context, field) ? value : { ...value, text: '' },
    );
    const bars = drawLane(values, fromMs, toMs);
    const waits = held.find((one) => one.field === (field === 'role' ? 'role_id' : field));
    const since =
      waits === undefined
        ? []
        : drawLane([{ fromMs: waits.since.getTime(), toMs, text: '', side: 'held' }], fromMs, toMs);
    return html`<div class="lane-of"><span>${field}</span>${lane([...bars, ...since])}</div>`;
  });
  const ends = html`<p class="note lane-ends"><span>${time(first.valid_from, day(first.valid_from, now))}</span><span>today</span></p>`;
  return section('Values over time', html`<div class="card lanes">${shown}${ends}</div>`, {
    more: html`<span class="note">${legend}</span>`,
  });
}

/** An edit of the row here: not in the ledger before a run has made something of it. */
interface Edited {
  readonly at: Date;
  readonly fields: readonly {
    readonly field: 'name' | 'email' | 'phone' | 'role_id';
    readonly old: unknown;
    readonly new: unknown;
  }[];
  readonly by: string | null;
}

/** What was edited here: the difference between a period that an edit began and the one before it. */
function editsOf(periods: readonly PersonPeriod[]): readonly Edited[] {
  const pair = ({ first_name: first, last_name: last }: PersonPeriod) => ({ first, last });
  return periods.flatMap((period, at) => {
    const before = periods[at + 1];
    if (period.side !== 'mirror' || before === undefined) return [];
    const all = [
      { field: 'name', old: pair(before), new: pair(period) },
      { field: 'email', old: before.email, new: period.email },
      { field: 'phone', old: before.phone, new: period.phone },
      { field: 'role_id', old: before.role_id, new: period.role_id },
    ] as const;
    const moved = all.filter((one) => textOf(one.old) !== textOf(one.new));
    return moved.length === 0 ? [] : [{ at: period.valid_from, fields: moved, by: period.edited_by }];
  });
}

const titles: Readonly<Record<ChangeRow['kind'], string>> = {
  adopt: 'Adopted from the service',
  return: 'Back in the team: adopted again',
  pull: 'pulled',
  push: 'pushed',
  settle: 'settled: both sides had come to the same',
  hold: 'held',
  tombstone: 'Left the team',
  forget: 'Forgotten: nobody has this person any more',
  approve: 'approved',
  reject: 'rejected',
  undo: 'taken back',
  resolve: 'resolved',
  place: 'moved',
};

/** On which side it happened; the words say it too. */
function signOf(kind: ChangeRow['kind'] | 'edit'): Html {
  if (kind === 'push') return html`${sides.mirror}<i>→</i>${sides.service}`;
  if (kind === 'pull') return html`${sides.service}<i>→</i>${sides.mirror}`;
  if (kind === 'hold') return html`${sides.mirror}<i>ıı</i>${sides.service}`;
  return kind === 'adopt' || kind === 'return' ? sides.service : sides.mirror;
}

function noteOf(context: PageContext, row: ChangeRow): Html {
  const { run_id: run, kind, outcome, decided_why: why, request_id: request } = row;
  const who = actorOf(row);
  const by =
    kind === 'pull'
      ? html` Changed on the service, which does not say by whom.`
      : who === null || who === 'on the service'
        ? none
        : html` ${row.decided_by === null ? 'Edited' : 'Decided'} by ${named(who)}.`;
  const ran =
    run === null
      ? none
      : html`<a href="${to(context, `/runs/${run}`)}">Run ${count(run)}</a>${outcome === null ? none : html`, ${outcome === 'unknown' ? 'its outcome is not known yet' : outcome}`}.`;
  return html`${ran}${by}${why === null ? none : html` “${named(why)}”`}${request === null ? none : html` <span class="mono quiet">${request}</span>`}`;
}

interface HistoryEvent {
  readonly at: Date;
  readonly sign: Html;
  readonly title: Html;
  readonly note: Html;
}

const arrow = (from: Html, into: Html): Html =>
  html`<span class="quiet">${from}</span> <span aria-label="to">→</span> ${into}`;

function eventOf(context: PageContext, row: ChangeRow): HistoryEvent {
  const [from, into] = fromAndTo(context, row);
  const title =
    row.field === null
      ? html`${titles[row.kind]}`
      : html`${fieldName(row.field)} ${titles[row.kind]}: ${arrow(from, into)}`;
  return { at: row.closed_at ?? row.opened_at, sign: signOf(row.kind), title, note: noteOf(context, row) };
}

function editEvents(context: PageContext, periods: readonly PersonPeriod[]): readonly HistoryEvent[] {
  return editsOf(periods).flatMap(({ at, fields, by }) =>
    fields.map((one) => {
      const [from, into] = fromAndTo(context, {
        kind: 'push',
        field: one.field,
        base_value: one.old,
        old_value: one.old,
        new_value: one.new,
      });
      return {
        at,
        sign: signOf('edit'),
        title: html`${fieldName(one.field)} edited in the mirror: ${arrow(from, into)}`,
        note: by === null ? html`Nobody knows by whom.` : html`By ${named(by)}.`,
      };
    }),
  );
}

/** The list is the truth; the lanes above are a picture of it. */
export function personHistory(context: PageContext, { periods, changes, id }: PersonRead): Html {
  const events = [...changes.map((row) => eventOf(context, row)), ...editEvents(context, periods)].toSorted(
    (a, b) => b.at.getTime() - a.at.getTime(),
  );
  const items = events.map(
    ({ at, sign, title, note }) =>
      html`<li>${time(at, clockTime(at, context.now))}<span class="signs" aria-hidden="true">${sign}</span><div><p>${title}</p><p class="note">${note}</p></div></li>`,
  );
  return section('History', html`<ol class="card history">${items}</ol>`, {
    note: html`${many(events.length, 'event')}, newest first`,
    more: html`<a href="${to(context, '/changes', { q: id.toString() })}">As a table</a>`,
  });
}
