/** The values of one person over time, as a lane for each field. */
import type { PersonPeriod, PersonRead } from '../read/page-person.ts';
import { printable } from '../../model/in-words.ts';
import { section } from './components.ts';
import { fieldTitle } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { drawLane, joinValues, type LaneValue } from './lanes.ts';
import { sides } from './pills.ts';
import { lane } from './show-chart.ts';
import { isShown, textOf, value } from './three-values.ts';
import type { PageContext } from './view.ts';
import { clockTime, day, time } from './words.ts';

const lanes = ['name', 'email', 'phone', 'role'] as const;

function textIn(field: (typeof lanes)[number], period: PersonPeriod): string {
  if (field === 'role') return [period.role_id, period.role].filter((part) => part !== null).join(' ');
  return (
    (field === 'name' ? textOf({ first: period.first_name, last: period.last_name }) : period[field]) ?? ''
  );
}

/** The first period is what the person came with, so nobody changed anything for it. */
function valuesOf(
  field: (typeof lanes)[number],
  periods: readonly PersonPeriod[],
  now: Date,
): readonly LaneValue[] {
  const all = periods.map(
    (period, at): LaneValue => ({
      fromMs: period.valid_from.getTime(),
      toMs: (period.valid_to ?? now).getTime(),
      // Text of an SVG cannot have a <bdi>, so characters that reorder it are left out.
      text: printable(textIn(field, period)),
      side: at === 0 || period.side === null ? 'adopted' : period.side,
    }),
  );
  return joinValues(all).filter(({ text }) => text !== '');
}

const legend: Html = html`<p class="row note legend">${(
  [
    ['mirror', 'came from the mirror'],
    ['service', 'came from the service'],
    ['adopted', 'adopted'],
    ['held', 'held'],
  ] as const
).map(
  ([side, words]) =>
    html`<span><svg class="key" width="11" height="11" aria-hidden="true"><rect class="${side === 'held' ? 'act' : `value-${side}`}" width="11" height="11" rx="2"/></svg> ${words}</span>`,
)}</p>`;

const twoDaysMs = 2 * 86_400_000;

/** The values of a held field on both sides, for which a lane has no place. */
function heldInWords(context: PageContext, held: PersonRead['held']): Html {
  const words = held.map(
    ({ field, mirror_value: mirror, service_value: service }) =>
      html`<p class="note">${fieldTitle(field)} is held: ${sides.mirror} mirror ${value(context, field, mirror)}, ${sides.service} service ${value(context, field, service)}</p>`,
  );
  return html`${words}`;
}

export function overTime(context: PageContext, { periods, held }: PersonRead): Html {
  const { now } = context;
  const inOrder = periods.toReversed();
  const [first] = inOrder;
  if (first === undefined) return none;
  const [fromMs, toMs] = [first.valid_from.getTime(), now.getTime()];
  const drawnLanes = lanes.map((field) => {
    const values = valuesOf(field, inOrder, now).map((value) =>
      isShown(context, field) ? value : { ...value, text: '' },
    );
    const bars = drawLane(values, fromMs, toMs);
    const waits = held.find((row) => row.field === (field === 'role' ? 'role_id' : field));
    const since =
      waits === undefined
        ? []
        : drawLane([{ fromMs: waits.since.getTime(), toMs, text: '', side: 'held' }], fromMs, toMs);
    return html`<dt>${field}</dt><dd>${lane([...bars, ...since])}</dd>`;
  });
  const isShort = toMs - fromMs < twoDaysMs;
  const begin = time(
    first.valid_from,
    isShort ? clockTime(first.valid_from, now) : day(first.valid_from, now),
  );
  const ends = html`<dd class="row between note ends"><span>${begin}</span><span>${isShort ? time(now, clockTime(now, now)) : 'today'}</span></dd>`;
  const lanesOf = html`<div class="card"><dl class="pairs">${drawnLanes}${ends}</dl>${heldInWords(context, held)}</div>`;
  return section('Values over time', lanesOf, {
    more: legend,
  });
}
