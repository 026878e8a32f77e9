/** The endpoints for listed resources, as a whole and row by row, and for the count of contacts. */

import { isRefusal, ServiceError } from '../errors.ts';
import type { PaginationBody } from '../model/contact-count.ts';
import type { Id } from '../model/id.ts';
import { inPlural, type ListedResource, type ListedRow } from '../model/listed-resource.ts';
import type { AgreedListing, CompleteListing, Listing, ListingMemory } from '../model/listing.ts';
import type { ListingOptions } from '../model/service-request.ts';
import { type MakeCall, nullIfMissing } from './call.ts';
import { listOperation, operations, pathWithId, rowOperation } from './operation.ts';
import type { PageQuery } from './page.ts';
import { firstLimit, readListing } from './pages.ts';
import { readWhole } from './read-whole.ts';
import { decodeCount, decodeListed, decodeOne, decodePage } from './wire-lists.ts';

/** Paged listings take the shared pagination body (interface.md); only `limit`, `page` and the filter are sent. */
export interface ListingEndpoints {
  /** Lists all rows of a resource (interface.md, Endpoints). */
  list(resource: ListedResource, options: ListingOptions<ListedRow>): Promise<Listing<ListedRow>>;
  /** One row of a resource; `null` if the service answers 404. Only for a resource with a path for one row. */
  row(resource: ListedResource, id: Id): Promise<ListedRow | null>;
  /** `POST /v1/contacts/count`: the number of contacts that match a pagination body. */
  contactCount(body: PaginationBody): Promise<bigint>;
}

/** Options for reading any listing. */
export interface PagesSettings {
  /** The most pages of a listing that are read. */
  readonly maxPages: number;
}

/**
 * The listing of a service that answers 404: it has no such listing, so the listing counts as empty. This does not mark
 * the rows in the mirror as gone.
 */
const noneListed = (memory: ListingMemory): CompleteListing<ListedRow> => ({
  status: 'complete',
  rows: [],
  count: 0,
  rejected: [],
  memory,
  requests: 1,
  digests: null,
  isOffered: false,
  isKnown: false,
});

const isNew = () => Promise.resolve(false);

/** True if the same requests get the same answers as before. At the first difference, the listing is read again. */
async function isAnsweredSo(
  call: MakeCall,
  resource: ListedResource,
  options: ListingOptions<ListedRow>,
  digests: readonly string[],
): Promise<boolean> {
  const operation = listOperation(resource);
  const limit = firstLimit(options);
  for (const [page, digest] of digests.entries()) {
    const body = resource.list.isPaged ? { ...options.filter, limit, page } : undefined;
    const isKnown = (now: string) => Promise.resolve(now === digest);
    try {
      if ((await call({ operation, body, isKnown })).digest !== digest) return false;
    } catch (error) {
      if (isRefusal(error)) return false;
      throw error;
    }
  }
  return true;
}

const knownListing = (
  memory: ListingMemory,
  { digests, count }: AgreedListing,
): CompleteListing<ListedRow> => ({
  ...noneListed(memory),
  count,
  digests,
  requests: digests.length,
  isOffered: true,
  isKnown: true,
});

/** Lists a resource. @throws ServiceError, with status 404 if the service has no such listing */
export async function listResource(
  call: MakeCall,
  pages: PagesSettings,
  resource: ListedResource,
  options: ListingOptions<ListedRow>,
): Promise<Listing<ListedRow>> {
  const { memory } = options;
  if (memory.agreed !== undefined && (await isAnsweredSo(call, resource, options, memory.agreed.digests)))
    return knownListing(memory, memory.agreed);
  const operation = listOperation(resource);
  const words = inPlural(resource);
  const decode = decodeListed(resource);
  let digests: string[] | null = [];
  const ask = async (body: object | undefined, page: number) => {
    const reply = await call({ operation, body, isKnown: isNew });
    if (page === 0) digests = [];
    if (page !== digests?.length || reply.digest === null) digests = null;
    else digests.push(reply.digest);
    return await decodePage(reply, words, decode);
  };
  const fetchPage = (query: PageQuery) => ask({ ...options.filter, ...query }, query.page ?? 0);
  const listing = resource.list.isPaged
    ? await readListing({ ...options, ...pages, fetchPage })
    : await readWhole({ ...options, fetchAll: () => ask(undefined, 0) });
  return { ...listing, digests };
}

export function createListingEndpoints(call: MakeCall, pages: PagesSettings): ListingEndpoints {
  const list: ListingEndpoints['list'] = async (resource, options) => {
    let isAnswered = false;
    const noteAnswer: MakeCall = async (request) => {
      const reply = await call(request);
      isAnswered = true;
      return reply;
    };
    try {
      return await listResource(noteAnswer, pages, resource, options);
    } catch (error) {
      // If a page was answered, the service has this listing, and only its later pages are unknown.
      if (error instanceof ServiceError && error.status === 404 && !isAnswered)
        return noneListed(options.memory);
      throw error;
    }
  };
  return {
    list,
    row: async (resource, id) => {
      const operation = rowOperation(resource);
      if (operation === undefined) throw new Error(`no path of one ${resource.noun} is known`);
      return await nullIfMissing(async () => {
        const path = pathWithId(operation, id);
        return await decodeOne(await call({ operation, path }), resource.noun, id, decodeListed(resource));
      });
    },
    contactCount: async (body) => decodeCount(await call({ operation: operations.contactCount, body })),
  };
}
