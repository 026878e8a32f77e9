/** Makes any call by method and path, for `musterd api`: authenticated, within the rate limit, JSON in and out. */
import { MusterdError } from '../errors.ts';
import type { Id } from '../model/id.ts';
import { type Listing, nothingLearned } from '../model/listing.ts';
import type { Headers } from './call-outcome.ts';
import type { MakeCall } from './call.ts';
import { isObject, type JsonObject } from './json-object.ts';
import type { PagesSettings } from './listing-endpoints.ts';
import { findOperation, type Method } from './operation.ts';
import { readListing } from './pages.ts';
import { decodePage } from './wire-lists.ts';

/** A row of any listing, as the service wrote it. */
interface RawRow {
  readonly id: Id;
  readonly row: JsonObject;
}

interface RawReply {
  readonly status: number;
  readonly requestId: string | null;
  readonly headers: Headers;
  /** Integers past 2^53 are `bigint`. */
  readonly value: unknown;
}

export interface RawRequest {
  /**
   * One call of any endpoint. An endpoint that the interface does not list counts as a write, unless it is a GET.
   *
   * @throws ServiceError for any answer but a 2xx with JSON; MusterdError `usage` for a path outside `/v1`
   */
  request(method: Method, path: string, body?: unknown): Promise<RawReply>;
  /** All pages of a listing that takes the shared pagination body; `limit` of the body is the page size. */
  requestPages(method: Method, path: string, body?: JsonObject): Promise<Listing<RawRow>>;
}

/** Accepts only plain paths: no `..`, no host, no line breaks. */
const allowedPath =
  /^\/v1(?:\/(?!\.{1,2}(?:\/|$|\?))[\w.~!$&'()*+,;=:@%-]+)+(?:\?[\w.~!$&'()*+,;=:@%/?-]*)?$/;

const defaultSize = 100;

function checkPath(path: string): void {
  if (allowedPath.test(path)) return;
  throw new MusterdError('usage', 'The path must begin with /v1/ and be encoded as in a URL');
}

export function createRawRequest(call: MakeCall, pages: PagesSettings): RawRequest {
  return {
    request: async (method, path, body) => {
      checkPath(path);
      const reply = await call({ operation: findOperation(method, path), path, body });
      const { status, requestId, headers } = reply;
      return { status, requestId, headers, value: reply.body.value };
    },
    requestPages: async (method, path, body = {}) => {
      checkPath(path);
      const operation = findOperation(method, path);
      const size = isObject(body) && typeof body['limit'] === 'number' ? body['limit'] : defaultSize;
      return await readListing<RawRow>({
        ...pages,
        memory: nothingLearned,
        size,
        fetchPage: async (query) =>
          decodePage(await call({ operation, path, body: { ...body, ...query } }), 'rows', (row, id) => ({
            id,
            row,
          })),
      });
    },
  };
}
