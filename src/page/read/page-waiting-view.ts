/** The queries of the view of waiting things. */
import { sql } from 'kysely';
import { columnOf } from '../../model/fields.ts';
import { isUp } from '../../model/daemons.ts';
import {
  mostWhole,
  ownKey,
  requestedPage,
  perList,
  type RowSort,
  rowSorts,
} from '../../model/waiting-page.ts';
import { idArray } from '../../mirror/db/by-key.ts';
import { actFor } from '../../mirror/users/decide-edits.ts';
import type { Transaction } from '../../mirror/db/database.ts';
import { readDaemons } from '../../mirror/team/known-daemons.ts';
import { readOwnEdits } from '../../mirror/users/last-edits.ts';
import { type FollowedDecision, readDecided } from './page-decided.ts';
import type { PageReader } from './page-reader.ts';
import {
  type MissingRows,
  type PageField,
  readListRows,
  readWaitingLists,
  type WaitingList,
} from './page-waiting.ts';

export interface ListRead extends WaitingList {
  readonly shown: readonly PageField[];
  /** The number of rows that pass the filters, on all pages; 0 behind the last page. */
  readonly found: number;
  /** The fields that were in the batch and are decided by now. */
  readonly decided: BatchProgress | null;
}

export interface BatchProgress {
  readonly rows: number;
  readonly approved: number;
  readonly by: string | null;
  readonly at: Date;
}

/** How the edits are sent next. */
export interface Sending {
  /** Whether a daemon serves each of these teams and so hears of edits and decisions. */
  readonly listens: boolean;
  /** `null` if none is planned. */
  readonly nextRun: Date | null;
}

export interface PageWaiting {
  /** All lists, whatever `?state=` asks for. */
  readonly all: readonly WaitingList[];
  readonly missing: readonly MissingRows[];
  /** The lists that are asked for, with rows. */
  readonly lists: readonly ListRead[];
  /** Whether one list has the page for itself. */
  readonly isAlone: boolean;
  /** The `ownKey` of edits by the person who looks, if somebody else has to approve them. */
  readonly own: ReadonlySet<string>;
  readonly sending: Sending;
  /** The decision of `?done=`, for a day. */
  readonly done: FollowedDecision | undefined;
  /** The newest ones; there are none if one list has the page for itself. */
  readonly decided: readonly FollowedDecision[];
}

const fewShown = 4;
const mostInFile = 100_000;
const lastDecided = 5;
const dayMs = 86_400_000;

interface WaitingFilter {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly isCsv: boolean;
}

/** The order of the rows. */
function requestedSort(query: URLSearchParams): { readonly sort: RowSort; readonly isDown: boolean } {
  const sortWord = query.get('sort') ?? '';
  const sort = rowSorts.find((word) => word === sortWord.replace(/^-/, '')) ?? 'edited';
  return { sort, isDown: sortWord === `-${sort}` };
}

/** Reads the edits that the person who looks cannot approve, in teams in which somebody else has to. */
async function readOwn(
  { db, teams, decider }: PageReader,
  rows: readonly PageField[],
): Promise<ReadonlySet<string>> {
  const own = new Set<string>();
  if (decider === null) return own;
  const tx = db as Transaction;
  await actFor(tx, decider.actor);
  for (const { teamId } of teams.filter(({ team }) => decider.fourEyes.has(team))) {
    const ofTeam = rows.filter((row) => row.teamId === teamId);
    const users = new Set(ofTeam.flatMap(({ userId }) => userId ?? []));
    const edits = users.size === 0 ? [] : await readOwnEdits(tx, teamId, [...users]);
    for (const { userId, field } of edits) own.add(ownKey({ teamId, userId, field: columnOf(field) }));
  }
  return own;
}

async function readDecidedOf(
  { db, teamIds }: PageReader,
  batches: readonly string[],
): Promise<ReadonlyMap<string, BatchProgress>> {
  if (batches.length === 0) return new Map();
  const { rows } = await sql<BatchProgress & { readonly batch: string }>`
    select d.batch, count(*)::int as rows, count(*) filter (where d.decision = 'approve')::int as approved,
      (array_agg(d.decided_by order by d.change_id desc))[1] as by, max(d.decided_at) as at
    from (
      select distinct on (d.team_id, d.batch, d.user_id, d.field) d.* from report.decisions d
      where d.team_id = any (${idArray(teamIds)}) and d.batch = any (${batches}) and d.field is not null
      order by d.team_id, d.batch, d.user_id, d.field, d.change_id desc
    ) d
    where d.decision in ('approve', 'reject') group by d.team_id, d.batch`.execute(db);
  return new Map(rows.map(({ batch, ...decided }) => [batch, decided]));
}

export async function readSending({ db, teams, teamIds, now }: PageReader): Promise<Sending> {
  const { rows } = await sql<Pick<Sending, 'nextRun'>>`
    select min(f.next_run) as "nextRun" from report.freshness f
    where f.team_id = any (${idArray(teamIds)}) and f.run_group in ('users', 'edits') and f.next_run > now()`.execute(
    db,
  );
  const daemons = (await readDaemons(db)).filter((daemon) => isUp(daemon, now));
  const served = new Set(daemons.map(({ team }) => team));
  const listens = teams.every(({ team, teamId }) => !teamIds.includes(teamId) || served.has(team));
  return { listens, nextRun: rows[0]?.nextRun ?? null };
}

/** Reads the decision that `?done=` names, for a day, and the newest ones. */
async function readDone(reader: PageReader, query: URLSearchParams, most: number) {
  const first = /^\d{1,18}$/.exec(query.get('done') ?? '')?.[0];
  const number = first === undefined ? null : BigInt(first);
  const decided = await readDecided(reader, { number, most });
  const isRecent = ({ at }: FollowedDecision) => reader.now.getTime() - at.getTime() < dayMs;
  return { decided, done: decided.find((decision) => decision.number === number && isRecent(decision)) };
}

/** Whether the address asks for this batch, if it names one, or for this state. */
const isAsked = ({ params, query }: WaitingFilter, batch: string | null, state: string): boolean =>
  params['batch'] === undefined ? [null, state].includes(query.get('state')) : batch === params['batch'];

export async function readWaitingView(reader: PageReader, filter: WaitingFilter): Promise<PageWaiting> {
  const { params, query, isCsv } = filter;
  const all = await readWaitingLists(reader);
  const listsAsked = all.lists.filter(({ batch, state }) => isAsked(filter, batch, state));
  const missing = all.missing.filter(({ hash }) => isAsked(filter, hash, 'missing'));
  const isNarrow = params['batch'] !== undefined || query.get('state') !== null;
  const isAlone = listsAsked.length === 1 && missing.length === 0 && isNarrow;
  const most = ({ rows }: WaitingList) => (isAlone ? perList : rows > mostWhole ? fewShown : mostWhole);
  const rowsAsked = {
    field: isAlone ? query.get('field') : null,
    editor: isAlone ? query.get('by') : null,
    ...requestedSort(query),
    skip: isAlone ? (requestedPage(query) - 1) * perList : 0,
    most: isCsv ? () => mostInFile : most,
  };
  const lists: ListRead[] = [];
  const decidedOf = await readDecidedOf(
    reader,
    listsAsked.flatMap((list) => list.batch ?? []),
  );
  for (const list of listsAsked) {
    const rows = await readListRows(reader, list, rowsAsked);
    lists.push({ ...list, ...rows, decided: decidedOf.get(list.batch ?? '') ?? null });
  }
  const own = await readOwn(
    reader,
    lists.flatMap((list) => list.shown),
  );
  const { decided, done } = await readDone(reader, query, isAlone || isCsv ? 0 : lastDecided);
  const sending = await readSending(done === undefined ? reader : { ...reader, teamIds: [done.teamId] });
  return {
    all: all.lists,
    missing,
    lists,
    isAlone,
    own,
    sending,
    done,
    decided: isAlone ? [] : decided.slice(0, lastDecided),
  };
}
