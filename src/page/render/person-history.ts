/** All that happened to one person, as a list of events. One change is one event. */
import { editStates, type HeldReason, needsDecision } from '../../model/edit-state.ts';
import type { ChangeRow } from '../read/page-changes.ts';
import type { Id } from '../../model/id.ts';
import type { PersonPeriod, PersonRead } from '../read/page-person.ts';
import { fromAndTo } from './change-row.ts';
import { section } from './components.ts';
import { fieldName, heldWords } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import { pill, sides } from './pills.ts';
import { textOf } from './three-values.ts';
import type { PageContext } from './view.ts';
import { clockTime, count, many, named, span, time, took } from './words.ts';

/** An edit of the row here, which is not in the ledger before a run has handled it. */
interface MirrorEdit {
  readonly at: Date;
  readonly fields: readonly {
    readonly field: 'name' | 'email' | 'phone' | 'role_id';
    readonly old: unknown;
    readonly new: unknown;
  }[];
  readonly by: string | null;
}

/** The edits made here: each is the difference between a period that it began and the one before. */
function editsOf(periods: readonly PersonPeriod[]): readonly MirrorEdit[] {
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
    const moved = all.filter((value) => textOf(value.old) !== textOf(value.new));
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
  discard: 'given up',
  approve: 'approved',
  reject: 'rejected',
  undo: 'taken back',
  resolve: 'resolved',
  place: 'moved',
  call: 'sent by a command',
};

/** One thing that was done about a value, in the mirror or by a run. */
interface HistoryStep {
  readonly at: Date;
  readonly field: string | null;
  readonly kind: ChangeRow['kind'] | 'edit';
  /** The value of the field after it. */
  readonly text: string | null;
  /** `null` if it is about no edit, or about an unknown one. */
  readonly edit: Id | null;
  readonly change: Parameters<typeof fromAndTo>[1] | null;
  readonly words: Html;
  /** Details behind the fold. */
  readonly more: Html;
  readonly outcome: Html;
}

/** A value that a field got, and what became of it. */
interface HistoryEvent {
  readonly first: HistoryStep;
  readonly steps: HistoryStep[];
  edit: Id | null;
}

/** The side on which it happened; the words say it too. */
function signOf(steps: readonly HistoryStep[]): Html {
  const kinds = new Set(steps.map(({ kind }) => kind));
  if (kinds.has('push')) return html`${sides.mirror}<i>→</i>${sides.service}`;
  if (kinds.has('pull')) return html`${sides.service}<i>→</i>${sides.mirror}`;
  if (kinds.has('hold')) return html`${sides.mirror}<i>ıı</i>${sides.service}`;
  return kinds.has('adopt') || kinds.has('return') ? sides.service : sides.mirror;
}

function outcomeOf({ kind, outcome }: ChangeRow): Html {
  if (outcome === null) return none;
  if (kind === 'hold') return pill('pause', 'dim', heldWords(outcome as HeldReason));
  if (outcome === 'confirmed') return pill('tick', 'ok', 'confirmed');
  return pill('clock', 'dim', outcome === 'unknown' ? 'not known yet' : outcome);
}

function stepOf(context: PageContext, row: ChangeRow): HistoryStep {
  const {
    run_id: run,
    kind,
    decided_why: why,
    request_id: request,
    batch,
    opened_at: opened,
    closed_at: closed,
  } = row;
  const at = kind === 'push' ? opened : (closed ?? opened);
  const actor = kind === 'pull' ? null : row.decided_by;
  const by = actor === null ? none : html` by ${named(actor)}`;
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
    edit: row.edit_id,
    more: html`${batch === null ? none : html`Batch <code>${batch}</code> `}${request === null ? none : html`X-Request-Id <code>${request}</code> `}`,
    outcome: outcomeOf(row),
  };
}

function editSteps(context: PageContext, periods: readonly PersonPeriod[]): readonly HistoryStep[] {
  return editsOf(periods).flatMap(({ at, fields, by }) =>
    fields.map(
      (edit): HistoryStep => ({
        at,
        field: edit.field,
        kind: 'edit',
        text: textOf(edit.new),
        edit: null,
        change: {
          kind: 'push',
          field: edit.field,
          base_value: edit.old,
          old_value: edit.old,
          new_value: edit.new,
        },
        words: html`<b>edited</b> ${by === null ? 'here, nobody knows by whom' : html`by ${named(by)}`} ${time(at, clockTime(at, context.now))}`,
        more: none,
        outcome: none,
      }),
    ),
  );
}

/** Everything that was done about an edit belongs to it, by its number or its value. A pull begins a new event. */
function eventsOf(steps: readonly HistoryStep[]): readonly HistoryEvent[] {
  const last = new Map<string, HistoryEvent>();
  const events: HistoryEvent[] = [];
  for (const step of steps.toSorted((a, b) => a.at.getTime() - b.at.getTime())) {
    const { field, edit, kind, text } = step;
    const numbered =
      edit === null
        ? undefined
        : events.findLast((event) => event.edit === edit && event.first.field === field);
    const before = field === null ? undefined : last.get(field);
    const isAnother = edit !== null && before?.edit !== edit && (before?.edit ?? null) !== null;
    const isOfIt = kind !== 'edit' && kind !== 'pull' && (kind === 'resolve' || before?.first.text === text);
    const event = numbered ?? (isOfIt && !isAnother ? before : undefined);
    if (event === undefined) {
      const begun = { first: step, steps: [step], edit };
      events.push(begun);
      if (field !== null) last.set(field, begun);
    } else {
      event.steps.push(step);
      event.edit ??= edit;
    }
  }
  return events.toReversed();
}

/** The end of an event while the field is held for a person. */
function unfinished(context: PageContext, { first, edit }: HistoryEvent, { row, held }: PersonRead): Html {
  const heldRow = held.find(
    ({ field, edit_id: of }) => field === first.field && (edit === null || of === edit),
  );
  if (heldRow === undefined || !needsDecision(heldRow) || row.gone_at !== null) return none;
  return html`<li><b>${editStates.held}</b>, ${span(context.now.getTime() - heldRow.since.getTime())}</li>`;
}

function eventItem(context: PageContext, { first, steps }: HistoryEvent, last: Html): Html {
  const sign = html`<span class="signs" aria-hidden="true">${signOf(steps)}</span>`;
  // A hold is no outcome of what went on.
  const isOutcome = (step: HistoryStep) =>
    step.outcome !== none && (step.kind !== 'hold' || step === steps.at(-1));
  const outcome = steps.findLast(isOutcome)?.outcome ?? none;
  const [from, into] = first.change === null ? [none, none] : fromAndTo(context, first.change);
  const title =
    first.field === null
      ? none
      : html`<p><b>${fieldName(first.field)}</b> <span class="quiet">${from}</span> <span aria-label="to">→</span> ${into} ${outcome}</p>`;
  const more = steps.map((step) => step.more).filter((detail) => detail.toString() !== '');
  const fold =
    more.length === 0
      ? none
      : html`<details><summary class="note">Batch, request</summary><p class="note">${more}</p></details>`;
  return html`<li>${time(first.at, clockTime(first.at, context.now))}${sign}<div>${title}<ol class="row note steps">${steps.map((step) => html`<li>${step.words}</li>`)}${last}</ol>${fold}</div></li>`;
}

export function personHistory(context: PageContext, read: PersonRead): Html {
  const { periods, changes, id } = read;
  const events = eventsOf([...changes.map((row) => stepOf(context, row)), ...editSteps(context, periods)]);
  const newest = new Set(
    Map.groupBy(events, ({ first }) => first.field)
      .values()
      .map(([event]) => event),
  );
  const items = events.map((event) =>
    eventItem(context, event, newest.has(event) ? unfinished(context, event, read) : none),
  );
  return section('History', html`<ol class="card history">${items}</ol>`, {
    note: html`${many(events.length, 'change')}, newest first`,
    more: html`<a href="${to(context, '/changes', { q: id.toString() })}">As a table</a>`,
  });
}
