/** What became of one person: values over time as lanes, and all that happened as a list. */
import type { ChangeRow } from '../read/page-changes.ts';
import type { PersonPeriod, PersonRead } from '../read/page-person.ts';
import { printable } from '../../model/in-words.ts';
import { fromAndTo } from './change-row.ts';
import { section } from './components.ts';
import { fieldName } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { drawLane, joinValues, type LaneValue } from './lanes.ts';
import { to } from './links.ts';
import { pill, sides } from './pills.ts';
import { lane } from './show-chart.ts';
import { isShown, textOf } from './three-values.ts';
import type { PageContext } from './view.ts';
import { clockTime, count, day, many, named, time, took } from './words.ts';

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

const words: Readonly<Record<ChangeRow['kind'], string>> = {
  adopt: 'Adopted from the service',
  return: 'Back in the team: adopted again',
  pull: 'in the mirror',
  push: 'sent',
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

/** One thing that was done about a value, in the mirror or by a run. */
interface Step {
  readonly at: Date;
  readonly field: string | null;
  readonly kind: ChangeRow['kind'] | 'edit';
  /** What the field came to by it. */
  readonly text: string | null;
  readonly change: Parameters<typeof fromAndTo>[1] | null;
  readonly words: Html;
  /** Behind the fold. */
  readonly more: Html;
  readonly outcome: Html;
}

/** A value that a field came to, and what became of it. */
interface HistoryEvent {
  readonly first: Step;
  readonly steps: Step[];
}

/** On which side it happened; the words say it too. */
function signOf(steps: readonly Step[]): Html {
  const kinds = new Set(steps.map(({ kind }) => kind));
  if (kinds.has('push')) return html`${sides.mirror}<i>→</i>${sides.service}`;
  if (kinds.has('pull')) return html`${sides.service}<i>→</i>${sides.mirror}`;
  if (kinds.has('hold')) return html`${sides.mirror}<i>ıı</i>${sides.service}`;
  return kinds.has('adopt') || kinds.has('return') ? sides.service : sides.mirror;
}

function outcomeOf({ kind, outcome, held }: ChangeRow): Html {
  if (kind === 'hold') return held === null ? none : pill('pause', 'quiet', `held: ${held}`);
  if (outcome === null) return none;
  if (outcome === 'confirmed') return pill('tick', 'ok', 'confirmed');
  return pill('clock', 'quiet', outcome === 'unknown' ? 'not known yet' : outcome);
}

function stepOf(context: PageContext, row: ChangeRow): Step {
  const {
    run_id: run,
    kind,
    decided_why: why,
    request_id: request,
    opened_at: opened,
    closed_at: closed,
  } = row;
  const at = kind === 'push' ? opened : (closed ?? opened);
  const who = kind === 'pull' ? null : row.decided_by;
  const by = who === null ? none : html` by ${named(who)}`;
  const ran = run === null ? none : html`, <a href="${to(context, `/runs/${run}`)}">run ${count(run)}</a>`;
  const reason = why === null || why === '' ? none : html`, “${named(why)}”`;
  const duration =
    kind === 'push' && row.outcome === 'confirmed' && closed !== null
      ? html`, confirmed after ${took(closed.getTime() - opened.getTime())}`
      : none;
  const origin =
    kind === 'pull'
      ? html`<b>changed on the service</b> before ${time(at, clockTime(at, at))}; by whom, it does not say</li><li>`
      : none;
  return {
    at,
    field: row.field,
    kind,
    text: textOf(kind === 'hold' ? row.old_value : row.new_value),
    change: row.field === null ? null : row,
    words: html`${origin}<b>${words[kind]}</b>${by} ${time(at, clockTime(at, context.now))}${ran}${reason}${duration}`,
    more: request === null ? none : html`X-Request-Id <code>${request}</code> `,
    outcome: outcomeOf(row),
  };
}

function editSteps(context: PageContext, periods: readonly PersonPeriod[]): readonly Step[] {
  return editsOf(periods).flatMap(({ at, fields, by }) =>
    fields.map(
      (one): Step => ({
        at,
        field: one.field,
        kind: 'edit',
        text: textOf(one.new),
        change: {
          kind: 'push',
          field: one.field,
          base_value: one.old,
          old_value: one.old,
          new_value: one.new,
        },
        words: html`<b>edited</b> ${by === null ? 'here, nobody knows by whom' : html`by ${named(by)}`} ${time(at, clockTime(at, context.now))}`,
        more: none,
        outcome: none,
      }),
    ),
  );
}

/** What is done about a value belongs to the edit that gave the field this value; a pull begins anew. */
function eventsOf(steps: readonly Step[]): readonly HistoryEvent[] {
  const last = new Map<string, HistoryEvent>();
  const events: HistoryEvent[] = [];
  for (const step of steps.toSorted((a, b) => a.at.getTime() - b.at.getTime())) {
    const before = step.field === null ? undefined : last.get(step.field);
    const belongs =
      before !== undefined &&
      step.kind !== 'edit' &&
      step.kind !== 'pull' &&
      (step.kind === 'resolve' || before.first.text === step.text);
    if (belongs) before.steps.push(step);
    else {
      const event = { first: step, steps: [step] };
      events.push(event);
      if (step.field !== null) last.set(step.field, event);
    }
  }
  return events.toReversed();
}

function eventItem(context: PageContext, { first, steps }: HistoryEvent): Html {
  const sign = html`<span class="signs" aria-hidden="true">${signOf(steps)}</span>`;
  const last = steps.findLast(({ outcome }) => outcome !== none)?.outcome ?? none;
  const [from, into] = first.change === null ? [none, none] : fromAndTo(context, first.change);
  const title =
    first.field === null
      ? none
      : html`<p><b>${fieldName(first.field)}</b> <span class="quiet">${from}</span> <span aria-label="to">→</span> ${into} ${last}</p>`;
  const more = steps.map((step) => step.more).filter((one) => one !== none);
  const fold =
    more.length === 0
      ? none
      : html`<details><summary class="note">Request</summary><p class="note">${more}</p></details>`;
  return html`<li>${time(first.at, clockTime(first.at, context.now))}${sign}<div>${title}<ol class="note steps">${steps.map((step) => html`<li>${step.words}</li>`)}</ol>${fold}</div></li>`;
}

/** The list is the truth; the lanes above are a picture of it. */
export function personHistory(context: PageContext, { periods, changes, id }: PersonRead): Html {
  const events = eventsOf([...changes.map((row) => stepOf(context, row)), ...editSteps(context, periods)]);
  const items = events.map((event) => eventItem(context, event));
  return section('History', html`<ol class="card history">${items}</ol>`, {
    note: html`${many(events.length, 'change')}, newest first`,
    more: html`<a href="${to(context, '/changes', { q: id.toString() })}">As a table</a>`,
  });
}
