/**
 * The read-only listings: read page by page, published in one transaction. Rows that a listing shows are
 * taken even if it is incomplete; only a complete one counts against a row that it does not show.
 */
import type { ListingOptions } from '../model/service-request.ts';
import { ServiceError } from '../errors.ts';
import type { AbsenceDecision, ListedResource, RefreshResult } from '../model/absence.ts';
import type { ContactCount, Segment } from '../model/contact-count.ts';
import type { ContactField } from '../model/contact-field.ts';
import type { Id } from '../model/id.ts';
import { type Listing, nothingLearned } from '../model/listing.ts';
import type { KnownListing } from '../model/rest.ts';
import type { Tag } from '../model/tag.ts';
import { standFor } from './at-rest.ts';
import {
  type AbsenceSettings,
  judgeAbsences,
  readGrounds,
  type Scope,
  sayWithheld,
  scopeOf,
} from './missing-rows.ts';
import { type CountKind, givenTwice, type RunNotes, warnOfTwice } from './run-notes.ts';
import type { GatheredListing, MirrorPort, MirrorWriter, ServicePort } from './ports.ts';

/** One listed resource: how it is read, compared and checked row by row. */
export interface Refreshable<Row extends Tag | ContactField> {
  readonly resource: ListedResource;
  readonly list: (options: ListingOptions<Row>) => Promise<Listing<Row>>;
  /** Asks for the one row; `undefined` where the interface has no such call. */
  readonly exists: ((id: Id) => Promise<boolean>) | undefined;
}

export function listedTags(service: ServicePort): Refreshable<Tag> {
  return {
    resource: 'tags',
    list: (options) => service.tags(options),
    exists: async (id) => (await service.tag(id)) !== null,
  };
}

export function listedContactFields(service: ServicePort): Refreshable<ContactField> {
  return {
    resource: 'contact_fields',
    list: (options) => service.contactFields(options),
    exists: undefined,
  };
}

interface RefreshSettings {
  readonly pageSize: number | undefined;
  readonly absence: AbsenceSettings;
  readonly scope: Scope;
}

const isAsKnown = <Row>(listing: Listing<Row>): boolean => listing.status === 'complete' && listing.isAsKnown;

/** A listing, and its rows if any were read. */
interface Read<Row> {
  readonly listing: Listing<Row>;
  /** Ids that came twice with different values. */
  readonly differing: readonly Id[];
  readonly rows: GatheredListing;
}

/** Reads a listing page by page: no more of its rows than a page is in hand at once. */
async function withListing<Row extends Tag | ContactField, R>(
  of: Refreshable<Row>,
  mirror: MirrorPort,
  settings: RefreshSettings,
  notes: RunNotes,
  { memory, resting }: Recalled,
  work: (read: Read<Row>) => Promise<R>,
): Promise<R> {
  notes.event({ kind: 'step', step: of.resource });
  const onPage = (done: number) => notes.event({ kind: 'progress', step: of.resource, done, total: null });
  const rows = mirror.gatherListing(of.resource);
  try {
    const listing = await of.list({
      memory,
      known: resting?.digests,
      sink: rows,
      size: settings.pageSize,
      filter: settings.scope.filters[of.resource] ?? {},
      onPage,
    });
    const atRest = isAsKnown(listing) ? (resting?.shown ?? 0) : 0;
    notes.count(`${of.resource}_read`, isAsKnown(listing) ? atRest : listing.count);
    if (atRest > 0) notes.count(`${of.resource}_at_rest`, atRest);
    notes.event({ kind: 'read', resource: of.resource, how: isAsKnown(listing) ? 'nothing' : 'all' });
    if (listing.status === 'incomplete') notes.partial(`${of.resource}: ${listing.because}`);
    const differing = rows.differing();
    warnOfTwice(notes, of.resource, differing);
    return await work({ listing, rows, differing });
  } finally {
    rows.close();
  }
}

function countResult(of: ListedResource, result: RefreshResult, notes: RunNotes): void {
  const counts: readonly [CountKind, number][] = [
    [`${of}_added`, result.added],
    [`${of}_changed`, result.changed],
  ];
  for (const [kind, by] of counts) notes.count(kind, by);
}

/** What a refresh would change; nothing is written, and all is read. */
export async function planRefresh<Row extends Tag | ContactField>(
  of: Refreshable<Row>,
  mirror: MirrorPort,
  settings: RefreshSettings,
  notes: RunNotes,
): Promise<RefreshResult> {
  const known = await recallRest(of.resource, mirror, settings);
  const work = async ({ listing, rows }: Read<Row>) =>
    isAsKnown(listing) ? nothingNew : await mirror.compareListing(rows);
  const result = await withListing(of, mirror, settings, notes, known, work);
  countResult(of.resource, result, notes);
  return result;
}

/** What was learned of a listing, if the mirror still is as it was then, lacks nothing, and is asked in the same way. */
async function recallRest(
  resource: ListedResource,
  mirror: MirrorPort,
  settings: RefreshSettings,
): Promise<Recalled> {
  const known = await mirror.readKnownListing(resource);
  const { rest, resting } = known;
  const under = standFor(rest, settings);
  const isSame = resting?.mark === rest.since && resting?.shown === rest.present && resting.under === under;
  return { ...known, under, resting: isSame && !rest.isLacking ? resting : null };
}

interface Recalled extends KnownListing {
  readonly under: string;
}

const nothingNew: RefreshResult = { added: 0, changed: 0, absent: [], population: 0 };

/** Reads a listing and publishes it in one transaction. */
export async function refresh<Row extends Tag | ContactField>(
  of: Refreshable<Row>,
  mirror: MirrorPort & MirrorWriter,
  settings: RefreshSettings,
  notes: RunNotes,
): Promise<void> {
  const { resource } = of;
  const known = await recallRest(resource, mirror, settings);
  const work = async ({ listing, rows, differing }: Read<Row>) => {
    const result = isAsKnown(listing) ? nothingNew : await mirror.applyListing(rows);
    return { listing, result, twice: differing.map((id) => givenTwice(resource, id)) };
  };
  const { listing, result, twice } = await withListing(of, mirror, settings, notes, known, work);
  countResult(resource, result, notes);
  await mirror.applyRejectedRows(resource, [...listing.rejected, ...twice]);
  if (listing.status === 'incomplete') {
    await mirror.applyListingMemory(resource, listing.memory);
    return;
  }
  const decision = await judgeMissing(of, result, mirror, settings, notes);
  const { gone } = decision;
  // A row that is missing makes the learned numbering of the pages suspect: the next pass learns it again.
  await mirror.applyListingMemory(
    resource,
    result.absent.length > gone.length ? nothingLearned : listing.memory,
  );
  const held = await mirror.applyAbsences(resource, decision);
  notes.count(`${resource}_gone`, gone.length - held.length);
  const { digests = [], count: shown } = listing;
  const news = result.added + result.changed + result.absent.length + twice.length;
  if (isAsKnown(listing) || news > 0 || known.rest.isLacking || digests.length === 0) return;
  // What is written from now on is told by the database the next time.
  await mirror.applyRestingListing(resource, { mark: known.rest.mark, under: known.under, digests, shown });
}

/** How many of the rows that a listing leaves out are asked for again in one pass. */
const askedAgain = 20;

/** Asks for each of these rows. @returns those that are there, and those that are not */
async function lookUp(
  ids: readonly Id[],
  exists: (id: Id) => Promise<boolean>,
): Promise<{ readonly there: readonly Id[]; readonly not: readonly Id[] }> {
  const there: Id[] = [];
  const not: Id[] = [];
  for (const id of ids) ((await exists(id)) ? there : not).push(id);
  return { there, not };
}

async function judgeMissing(
  of: Pick<Refreshable<never>, 'resource' | 'exists'>,
  result: RefreshResult,
  mirror: MirrorPort,
  { absence, scope }: RefreshSettings,
  notes: RunNotes,
): Promise<AbsenceDecision> {
  const { resource, exists } = of;
  const scopeNow = scopeOf(resource, scope);
  const grounds = { ...(await readGrounds(resource, result.absent.length, mirror)), scopeNow };
  const { due, found, withheld, scopeIsUsual } = judgeAbsences(resource, result, absence, grounds);
  if (withheld !== null) notes.partial(sayWithheld(resource, withheld));
  const missing = result.absent.map(({ id }) => id);
  const decision = { missing, withheld, scope: scopeNow, scopeIsUsual };
  if (exists === undefined) return { ...decision, gone: due, found: [], lost: [] };
  const first = await lookUp(due, exists);
  // A row that is no longer there is missing like any other from now on: within the limits, and asked for once more.
  const again = await lookUp(found.slice(0, askedAgain), exists);
  const hidden = first.there.length + found.length - again.not.length;
  if (hidden > 0)
    notes.warn(
      `${resource}: the listing leaves out ${hidden} of the rows that are there, archived or filtered out perhaps; they stay in the mirror`,
    );
  return { ...decision, gone: first.not, found: [...first.there, ...again.there], lost: again.not };
}

/** One request per segment; a segment that cannot be counted costs the others nothing. */
export async function countContacts(
  service: ServicePort,
  segments: readonly Segment[],
  notes: RunNotes,
): Promise<readonly ContactCount[]> {
  notes.event({ kind: 'step', step: 'contact_counts' });
  const counts: ContactCount[] = [];
  for (const { name, body } of segments) {
    try {
      counts.push({ segment: name, count: await service.contactCount(body) });
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'credentials') throw error;
      notes.partial(`contact count "${name}": ${error.message}`);
    }
  }
  notes.count('contact_counts', counts.length);
  return counts;
}
