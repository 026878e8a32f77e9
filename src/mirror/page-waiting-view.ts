/** The queries of the view of waiting things. */
import { columnOf } from '../model/field-values.ts';
import { mostWhole, ownKey, pageAsked, perList, type RowSort, rowSorts } from '../model/waiting-page.ts';
import { actFor } from './decide-edits.ts';
import type { Transaction } from './database.ts';
import { readOwnEdits } from './last-edits.ts';
import { type Decided, readDecided } from './page-decided.ts';
import type { PageReader, SeenTeam } from './page-reader.ts';
import {
  type MissingRows,
  type PageField,
  readListRows,
  readWaitingLists,
  type WaitingList,
} from './page-waiting.ts';

export interface ListRead extends WaitingList {
  readonly shown: readonly PageField[];
}

export interface PageWaiting {
  readonly teams: readonly SeenTeam[];
  /** Whatever `?state=` asks for. */
  readonly all: readonly WaitingList[];
  readonly missing: readonly MissingRows[];
  /** Those that are asked for, with rows. */
  readonly lists: readonly ListRead[];
  /** One list has the page for itself. */
  readonly isAlone: boolean;
  /** `ownKey` of edits by whoever looks, where somebody else has to approve them. */
  readonly own: ReadonlySet<string>;
  /** The decision of `?done=`. */
  readonly done: Decided | undefined;
  /** The newest ones; none where one list has the page for itself. */
  readonly decided: readonly Decided[];
}

const fewShown = 4;
const mostInFile = 100_000;
const lastDecided = 5;

interface WaitingAsked {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly isCsv: boolean;
}

/** The order of the rows. */
function sortAsked(query: URLSearchParams): { readonly sort: RowSort; readonly isDown: boolean } {
  const asked = query.get('sort') ?? '';
  const sort = rowSorts.find((one) => one === asked.replace(/^-/, '')) ?? 'edited';
  return { sort, isDown: asked === `-${sort}` };
}

/** Edits that whoever looks cannot approve, in teams in which somebody else has to. */
async function readOwn(
  { db, teams, decider }: PageReader,
  rows: readonly PageField[],
): Promise<ReadonlySet<string>> {
  const own = new Set<string>();
  if (decider === null) return own;
  const tx = db as Transaction;
  await actFor(tx, decider.actor);
  for (const { teamId } of teams.filter(({ team }) => decider.fourEyes.has(team))) {
    const users = new Set(
      rows.flatMap(({ userId, ...row }) => (row.teamId === teamId && userId !== null ? [userId] : [])),
    );
    if (users.size === 0) continue;
    const edits = await readOwnEdits(tx, teamId, [...users]);
    for (const { userId, field } of edits) own.add(ownKey({ teamId, userId, field: columnOf(field) }));
  }
  return own;
}

export async function readWaitingView(
  reader: PageReader,
  { params, query, isCsv }: WaitingAsked,
): Promise<PageWaiting> {
  const { batch } = params;
  const state = batch === undefined ? query.get('state') : null;
  const all = await readWaitingLists(reader);
  const asked = all.lists.filter((one) =>
    batch === undefined ? state === null || one.state === state : one.batch === batch,
  );
  const missing = all.missing.filter(({ hash }) =>
    batch === undefined ? state === null || state === 'approval' : hash === batch,
  );
  const isAlone = asked.length === 1 && missing.length === 0 && (batch !== undefined || state !== null);
  const most = ({ rows }: WaitingList) => (isAlone ? perList : rows > mostWhole ? fewShown : mostWhole);
  const rowsAsked = {
    field: isAlone ? query.get('field') : null,
    editor: isAlone ? query.get('by') : null,
    ...sortAsked(query),
    skip: isAlone ? (pageAsked(query) - 1) * perList : 0,
    most: isCsv ? () => mostInFile : most,
  };
  const lists: ListRead[] = [];
  for (const list of asked) lists.push({ ...list, shown: await readListRows(reader, list, rowsAsked) });
  const shown = lists.flatMap((list) => list.shown);
  const own = await readOwn(reader, shown);
  const first = /^\d{1,18}$/.exec(query.get('done') ?? '')?.[0];
  const [done] = first === undefined ? [] : await readDecided(reader, { number: BigInt(first), most: 1 });
  const decided = isAlone || isCsv ? [] : await readDecided(reader, { number: null, most: lastDecided });
  return { teams: reader.teams, all: all.lists, missing, lists, isAlone, own, done, decided };
}
