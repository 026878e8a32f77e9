/** Changes of the ledger as a table: the values, who made each, and its outcome. */
import type { HeldReason } from '../../model/edit-state.ts';
import type { ChangeRow } from '../read/page-changes.ts';
import { kindsOf } from '../../model/ledger-words.ts';
import { person, table, type TableRow, teamCells, teamColumns } from './components.ts';
import { fieldName, heldWords } from './hold-words.ts';
import { type Html, html, none } from './html.ts';
import { to } from './links.ts';
import { direction, pill } from './pills.ts';
import { changed, noValue, textOf, value } from './three-values.ts';
import type { PageContext } from './view.ts';
import { clockTime, count, dayBand, named, time } from './words.ts';

const kindWords: Readonly<Record<ChangeRow['kind'], string>> = {
  adopt: 'adopted',
  return: 'came back',
  pull: 'pulled',
  push: 'pushed',
  settle: 'settled',
  hold: 'held',
  tombstone: 'left',
  forget: 'forgotten',
  discard: 'given up',
  approve: 'approved',
  reject: 'rejected',
  resolve: 'resolved',
  undo: 'taken back',
  place: 'moved',
  call: 'sent by a command',
};

/** The direction of a change. What a person decided, or what both sides came to, has none. */
function wayOf({ kind }: ChangeRow): Html {
  const word = kindWords[kind];
  if (kind === 'push') return direction('push', word);
  if (kind === 'hold') return direction('hold', word);
  if (kindsOf.pulled.some((pulled) => pulled === kind)) return direction('pull', word);
  return html`${word}`;
}

/** The person who made a change. Nobody is known for a pull: the service does not say. */
export function actorOf({ kind, edited_by: edited, decided_by: decided }: ChangeRow): string | null {
  if (kindsOf.pulled.some((pulled) => pulled === kind)) return 'on the service';
  return decided ?? edited;
}

const refusals: ReadonlySet<string> = new Set([
  'refused',
  'ineffective',
  'unsent',
  'unanswered',
  'missing',
  'changed',
]);

function outcomeOf({ kind, outcome, closed_at: closed }: ChangeRow): Html {
  if (outcome !== null && kind === 'hold') return pill('pause', 'dim', heldWords(outcome as HeldReason));
  if (outcome === null) return html`<span class="none">–</span>`;
  if (outcome === 'confirmed') return pill('tick', 'ok', 'confirmed');
  if (outcome === 'unknown') return pill('clock', 'dim', closed === null ? 'not known yet' : 'not known');
  return refusals.has(outcome) ? pill('pause', 'dim', outcome) : html`${outcome}`;
}

type MovedValues = Pick<ChangeRow, 'kind' | 'field' | 'base_value' | 'old_value' | 'new_value'>;

/**
 * The values before and after, with the difference marked in the colour of the side that it came from. A hold moved
 * nothing: it shows what was last agreed on and what the mirror has.
 */
export function fromAndTo(
  context: Pick<PageContext, 'details'>,
  { kind, field, base_value: base, old_value: old, new_value: now }: MovedValues,
): readonly [Html, Html] {
  if (field === null) return [none, none];
  if (kind === 'hold')
    return [value(context, field, base), changed(context, field, { to: old, from: base, side: 'mirror' })];
  const side = kindsOf.pulled.some((pulled) => pulled === kind) ? 'service' : 'mirror';
  const to = textOf(now) === null ? noValue : changed(context, field, { to: now, from: old, side });
  return [value(context, field, old), to];
}

export const fieldWord = (field: string | null) => (field === null ? 'everything' : fieldName(field));
const whenOf = ({ closed_at: closed, opened_at: opened }: ChangeRow) => closed ?? opened;

/** The fields of changes that are about no user and not about the mirror itself. */
const ofNoUser: ReadonlySet<string> = new Set(['message', 'tag', 'conversation_read']);

function rowOf(context: PageContext, row: ChangeRow): TableRow {
  const [from, into] = fromAndTo(context, row);
  const actor = actorOf(row);
  return {
    cells: [
      time(whenOf(row), clockTime(whenOf(row), whenOf(row))),
      ...teamCells(context, row.team_id),
      row.user_id === null
        ? html`<span class="none">${ofNoUser.has(row.field ?? '') ? 'no user' : 'the mirror'}</span>`
        : person(context, row.team_id, { id: row.user_id, name: row.name }),
      fieldWord(row.field),
      from,
      into,
      wayOf(row),
      actor === null ? html`<span class="none">not known</span>` : named(actor),
      row.run_id === null
        ? html`<span class="none">–</span>`
        : html`<a href="${to(context, `/runs/${row.run_id}`)}">${count(row.run_id)}</a>`,
      outcomeOf(row),
    ],
  };
}

/** The newest first, with a band above each day. */
export function changesTable(
  context: PageContext,
  caption: string,
  changes: readonly ChangeRow[],
  foot?: Html,
): Html {
  const days = Map.groupBy(changes, (row) => dayBand(whenOf(row), context.now));
  return table(context, {
    caption,
    columns: [
      { label: 'When' },
      ...teamColumns(context),
      { label: 'Person' },
      { label: 'Field' },
      { label: 'From' },
      { label: 'To' },
      { label: 'Direction' },
      { label: 'By' },
      { label: 'Run', isNumber: true },
      { label: 'Outcome' },
    ],
    rows: [...days].flatMap(([band, of]) => [{ band }, ...of.map((row) => rowOf(context, row))]),
    ...(foot === undefined ? {} : { foot }),
  });
}
