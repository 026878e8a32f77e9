/**
 * The read-only listings: read page by page, published in one transaction. The rows of an incomplete listing are
 * published, too, but only a complete listing can show that a row is missing.
 */
import type { ListingOptions } from '../model/service-request.ts';
import type { AbsenceDecision, MirroredResource, RefreshResult } from '../model/absence.ts';
import type { ContactCount, Segment } from '../model/contact-count.ts';
import type { Id } from '../model/id.ts';
import type { ListedResource, ListedRow } from '../model/listed-resource.ts';
import type { Listing, ListingMemory, ListingSink } from '../model/listing.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import { answersOf, type ListingSettings, whileFresh } from './listing-answers.ts';
import { type AbsenceSettings, judgeAbsences, readVerdicts, sayWithheld } from './missing-rows.ts';
import { attempt, givenTwice, type RunNotes, warnOfTwice } from './run-notes.ts';
import type { GatheredListing, MirrorPort, MirrorWriter, ServicePort } from './ports.ts';

/** One listed resource, and the calls that read it: the listing, and single rows. */
export interface Refreshable {
  readonly resource: ListedResource;
  readonly list: (options: ListingOptions<ListedRow>) => Promise<Listing<ListedRow>>;
  /** Asks for one row; the result is `null` for an unknown id. Absent if the interface has no such call. */
  readonly row: ((id: Id) => Promise<ListedRow | null>) | undefined;
}

export const refreshable = (resource: ListedResource, service: ServicePort): Refreshable => ({
  resource,
  list: (options) => service.list(resource, options),
  row: resource.row === undefined ? undefined : (id) => service.row(resource, id),
});

interface RefreshSettings extends ListingSettings {
  readonly teamId: Id;
  readonly absence: AbsenceSettings;
}

/** A listing, and the rows that were read from it. */
interface Read {
  readonly listing: Listing<ListedRow>;
  /** Ids that came twice with different values. */
  readonly differing: readonly Id[];
  readonly rows: GatheredListing;
  /** Rows that were left out because their team column names another team. */
  readonly others: readonly RejectedRow[];
}

/** Keeps the rows of this team, and rows without a team. */
function onlyOwn({ name, columns }: ListedResource, teamId: Id, rows: GatheredListing) {
  const column = Object.keys(columns).find((key) => columns[key] === 'team');
  const others = new Map<Id, RejectedRow>();
  const isOwn = (row: ListedRow): boolean => {
    const team = column === undefined ? null : row[column];
    if (team === null || team === undefined || team === teamId) return true;
    others.set(row.id, { resource: name, id: row.id, reason: 'it is of another team', excerpt: '' });
    return false;
  };
  const sink: ListingSink<ListedRow> = {
    clear: () => {
      others.clear();
      rows.clear();
    },
    add: (some) => rows.add(some.filter(isOwn)),
    replace: (row) => {
      if (isOwn(row)) rows.replace(row);
    },
  };
  return { sink, others: () => [...others.values()] };
}

/** Reads a listing page by page, with at most one page of rows in memory, and does `work` with the result. */
async function withListing<R>(
  { resource, list }: Refreshable,
  mirror: MirrorPort,
  settings: RefreshSettings,
  notes: RunNotes,
  memory: ListingMemory,
  work: (read: Read) => Promise<R>,
): Promise<R> {
  const { name } = resource;
  notes.event({ kind: 'step', step: name });
  const onPage = (done: number) => notes.event({ kind: 'progress', step: name, done, total: null });
  const rows = mirror.gatherListing(resource);
  const own = onlyOwn(resource, settings.teamId, rows);
  try {
    const listing = await list({
      memory,
      sink: own.sink,
      size: settings.pageSize,
      onPage,
    });
    notes.count(`${name}_read`, listing.count);
    if (listing.status === 'incomplete') notes.partial(`${name}: ${listing.because}`);
    else if (!listing.isOffered)
      notes.warn(`${name}: the service has no such listing (404), so it counts as empty`);
    const differing = rows.differing();
    warnOfTwice(notes, name, differing);
    const others = own.others();
    if (others.length > 0) notes.warn(`${name}: ${others.length} rows of another team were left out`);
    return await work({ listing, rows, differing, others });
  } finally {
    rows.close();
  }
}

function countResult(resource: MirroredResource, result: RefreshResult, notes: RunNotes): void {
  notes.count(`${resource}_added`, result.added);
  notes.count(`${resource}_changed`, result.changed);
}

/** Returns what a refresh would change. It reads everything and writes nothing. */
export async function planRefresh(
  list: Refreshable,
  mirror: MirrorPort,
  settings: RefreshSettings,
  notes: RunNotes,
): Promise<RefreshResult> {
  const { name } = list.resource;
  const { agreed: _, ...memory } = await mirror.readListingMemory(name);
  const work = ({ rows }: Read) => mirror.compareListing(rows);
  const result = await withListing(list, mirror, settings, notes, memory, work);
  countResult(name, result, notes);
  return result;
}

/** Reads a listing and publishes it in one transaction. */
export async function refresh(
  list: Refreshable,
  mirror: MirrorPort & MirrorWriter,
  settings: RefreshSettings,
  notes: RunNotes,
): Promise<void> {
  const resource = list.resource.name;
  const memory = whileFresh(await mirror.readListingMemory(resource), settings);
  const work = async ({ listing, rows, differing, others }: Read) => {
    if (listing.status === 'complete' && listing.isKnown) return null;
    const byRow = await readByRow(list, mirror, rows, memory, notes);
    const rejected = [...listing.rejected, ...others, ...differing.map((id) => givenTwice(resource, id))];
    const result = await mirror.applyListing(rows, {
      rejected,
      memory: { ...listing.memory, ...byRow.memory },
      answers: byRow.lacking === 0 ? answersOf(listing, settings) : null,
    });
    return { listing, result };
  };
  const published = await withListing(list, mirror, settings, notes, memory, work);
  if (published === null) return;
  const { listing, result } = published;
  countResult(resource, result, notes);
  if (listing.status === 'incomplete') return;
  const decision = await judgeMissing(list, result, mirror, settings, notes);
  const { gone } = decision;
  const locked = await mirror.applyAbsences(resource, decision);
  notes.count(`${resource}_gone`, gone.length - locked.length);
}

/** The most rows that a run reads one by one, and the number of unanswered rows after which it stops reading rows. */
const [mostByRow, mostInVain] = [50, 3];

/** The number of rows that lacked a column, and the row that was asked for last. */
interface ReadByRow {
  readonly lacking: number;
  readonly memory: Pick<ListingMemory, 'lastRow'>;
}
const noneByRow: ReadByRow = { lacking: 0, memory: {} };

/**
 * Reads the columns that the listing leaves out, for rows that are new or have changed. Other fields of the answer are
 * ignored: if such a field differed from the listing, the mirror would switch between the two values at each run.
 * It begins after the row that was asked for last, so that unanswered rows do not block later rows.
 */
async function readByRow(
  { resource: { name, byRow = [] }, row }: Refreshable,
  mirror: MirrorPort,
  rows: GatheredListing,
  { lastRow: before = '0' }: ListingMemory,
  notes: RunNotes,
): Promise<ReadByRow> {
  if (byRow.length === 0 || row === undefined) return noneByRow;
  const lacking = await mirror.readLackingRows(rows, mostByRow, BigInt(before));
  let inVain = 0;
  let lastRow = before;
  for (const known of lacking) {
    lastRow = String(known.id);
    const answer = await attempt(notes, name, () => row(known.id));
    if (answer === undefined) {
      inVain += 1;
      if (inVain === mostInVain) break;
      continue;
    }
    // 404: the next run requests the row again, because the service may return it by then.
    if (answer === null) continue;
    // A column that the answer lacks is stored empty, so that the row is read again only after a change.
    const read = byRow.map((column) => [column, known[column] ?? answer[column] ?? '']);
    rows.replace({ ...known, ...Object.fromEntries(read) });
  }
  return { lacking: lacking.length, memory: { lastRow } };
}

/** The most rows left out by the listing, and found by id in an earlier run, that one run looks up again. */
const askedAgain = 20;

/** Asks for each of these rows. @returns the rows that exist, and the rows that do not */
async function lookUp(
  ids: readonly Id[],
  row: NonNullable<Refreshable['row']>,
): Promise<{ readonly there: readonly Id[]; readonly not: readonly Id[] }> {
  const there: Id[] = [];
  const not: Id[] = [];
  for (const id of ids) ((await row(id)) === null ? not : there).push(id);
  return { there, not };
}

async function judgeMissing(
  { resource: { name: resource }, row }: Refreshable,
  result: RefreshResult,
  mirror: MirrorPort,
  { absence }: RefreshSettings,
  notes: RunNotes,
): Promise<AbsenceDecision> {
  const verdicts = await readVerdicts(resource, result.absent.length, mirror);
  const { due, found, withheld } = judgeAbsences(resource, result, absence, verdicts);
  if (withheld !== null) notes.partial(sayWithheld(resource, withheld));
  const missing = result.absent.map(({ id }) => id);
  const decision = { missing, withheld };
  if (row === undefined) return { ...decision, gone: due, found: [], lost: [] };
  const first = await lookUp(due, row);
  // A row with the verdict `found` that no longer exists loses the verdict. The row then counts as missing, and a later
  // run looks it up once more.
  const again = await lookUp(found.slice(0, askedAgain), row);
  const hidden = first.there.length + found.length - again.not.length;
  if (hidden > 0)
    notes.warn(
      `${resource}: the listing leaves out ${hidden} rows that exist, perhaps because they are archived; they stay in the mirror`,
    );
  return { ...decision, gone: first.not, found: [...first.there, ...again.there], lost: again.not };
}

/** Makes one request per segment. If a segment cannot be counted, the next segments still are. */
export async function countContacts(
  service: ServicePort,
  segments: readonly Segment[],
  notes: RunNotes,
): Promise<readonly ContactCount[]> {
  notes.event({ kind: 'step', step: 'contact_counts' });
  const counts: ContactCount[] = [];
  for (const { name, body } of segments) {
    const count = await attempt(notes, `contact count "${name}"`, () => service.contactCount(body));
    if (count !== undefined) counts.push({ segment: name, count });
  }
  notes.count('contact_counts', counts.length);
  return counts;
}
