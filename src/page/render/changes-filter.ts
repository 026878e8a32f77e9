/** The filter of the ledger, from a link and as SQL. */
import type { ChangesFilter } from '../read/page-changes.ts';
import { fieldColumns } from '../../model/fields.ts';
import { directions, kindsOf } from '../../model/ledger-words.ts';
import type { ViewRequest, PageContext } from './view.ts';

const perPage = 50;
const mostInFile = 30_000;
const dayMs = 86_400_000;
const usualDays = 7;

export const isWholeNumber = /^\d{1,18}$/;

function sinceOf(text: string): Date | null {
  const found = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : null;
  return found === null || Number.isNaN(found.getTime()) ? null : found;
}

/** Without a person, a run or a day it selects the changes of the last days. An empty `since=` selects all of them. */
export function changesFilter({ query, details, isCsv }: ViewRequest, now: Date): ChangesFilter {
  const text = (key: string) => (query.get(key) ?? '').trim().slice(0, 200);
  const run = text('run').replaceAll(',', '');
  const q = text('q');
  const usual = new Date(Math.floor(now.getTime() / dayMs) * dayMs - usualDays * dayMs);
  const decision = text('decision');
  const isOpen = query.has('since') || [q, run, decision].some((value) => value !== '');
  const page = text('page');
  return {
    q,
    details,
    field: fieldColumns.find((column) => column === query.get('field')) ?? null,
    direction: directions.find((direction) => direction === query.get('direction')) ?? null,
    actor: text('actor') === '' ? null : text('actor'),
    runId: isWholeNumber.test(run) ? BigInt(run) : null,
    decision: isWholeNumber.test(decision) ? BigInt(decision) : null,
    since: isOpen ? sinceOf(text('since')) : usual,
    before: isWholeNumber.test(page) && !isCsv ? BigInt(page) : null,
    limit: isCsv ? mostInFile : perPage,
  };
}

/** The decision of this number, and what carried it out. */
const ofDecision = (decision: bigint): string => `(change_id, field) in (
    select c.change_id, c.field from report.decisions d join report.changes c using (team_id, user_id, field)
    where d.decision_id = ${decision} and (c.change_id = d.change_id
      or c.kind = 'push' and c.change_id > d.change_id and c.new_text is not distinct from d.mirror_text))`;

/** The same filter as SQL that a person can run. */
export function inSql(filter: ChangesFilter, context: Pick<PageContext, 'team'>): string {
  const text = (of: string) => `'${of.replaceAll("'", "''")}'`;
  const names = filter.direction === null ? [] : kindsOf[filter.direction].map(text);
  const where = [
    ...(context.team === null ? [] : [`team_id = ${context.team.teamId}`]),
    ...(filter.q === ''
      ? []
      : [isWholeNumber.test(filter.q) ? `user_id = ${filter.q}` : `name ilike ${text(`%${filter.q}%`)}`]),
    ...(filter.field === null ? [] : [`field = ${text(filter.field)}`]),
    ...(names.length === 0 ? [] : [`kind in (${names.join(', ')})`]),
    ...(filter.actor === null ? [] : [`${text(filter.actor)} in (edited_by, decided_by)`]),
    ...(filter.runId === null ? [] : [`run_id = ${filter.runId}`]),
    ...(filter.decision === null ? [] : [ofDecision(filter.decision)]),
    ...(filter.since === null ? [] : [`opened_at >= ${text(filter.since.toISOString().slice(0, 10))}`]),
  ];
  return [
    'select * from report.changes',
    ...(where.length === 0 ? [] : [`where ${where.join('\n  and ')}`]),
    'order by change_id desc',
  ].join('\n');
}
