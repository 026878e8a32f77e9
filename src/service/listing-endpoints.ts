/** The paged listings and their single rows: tags, contact fields, surveys; and counts. */
import type { ListingOptions } from '../model/service-request.ts';
import type { PaginationBody } from '../model/contact-count.ts';
import type { ContactField } from '../model/contact-field.ts';
import type { Id } from '../model/id.ts';
import type { Listing } from '../model/listing.ts';
import type { Tag } from '../model/tag.ts';
import { type MakeCall, nullIfMissing, readLeft, type Reply } from './call.ts';
import { type Operation, operations } from './operation.ts';
import type { Page } from './page.ts';
import { readListing } from './pages.ts';
import {
  type DecodeRow,
  decodeContactField,
  decodeCount,
  decodeList,
  decodeOne,
  decodePage,
  decodeTag,
} from './wire-lists.ts';
import { decodeSurvey, type Survey } from './messages/wire-survey.ts';

/** The listings take the shared pagination body (interface.md); only `limit`, `page`, `date` and the filter are sent. */
export interface ListingEndpoints {
  /** `POST /v1/tags` (interface.md, Endpoints; Tag): all pages. */
  tags(options: ListingOptions<Tag>): Promise<Listing<Tag>>;
  /** `GET /v1/tag/{id}`; `null` if the service says 404. */
  tag(id: Id): Promise<Tag | null>;
  /** `POST /v1/contact-fields` (interface.md, Endpoints; Contact field): all pages. */
  contactFields(options: ListingOptions<ContactField>): Promise<Listing<ContactField>>;
  /** `POST /v1/contacts/count`: the number of contacts that match a pagination body. */
  contactCount(body: PaginationBody): Promise<bigint>;
  /** `POST /v1/surveys` with `{limit, page}` (interface.md, Endpoints; Survey): all pages. */
  surveys(options: ListingOptions<Survey>): Promise<Listing<Survey>>;
  /** `GET /v1/survey/{id}`; `null` if the service says 404. */
  survey(id: Id): Promise<Survey | null>;
}

/** Options for reading any listing. */
export interface PagesSettings {
  /** Requests in parallel. */
  readonly parallel: number;
  /** Longest listing in pages; the rest is not read. */
  readonly maxPages: number;
}

/** The rows of one answer. An answer with a known digest has not been parsed yet. */
function takePage<Row>(reply: Reply, decode: (reply: Reply) => Page<Row>): Page<Row> {
  const { digest, bytes, read } = reply.body;
  if (read === undefined) return { ...decode(reply), digest, bytes };
  const readPage = async () => takePage(await readLeft(reply), decode);
  return { rows: [], rejected: [], digest, bytes, read: readPage };
}

export function createListingEndpoints(call: MakeCall, pages: PagesSettings): ListingEndpoints {
  const list = async <Row extends { readonly id: Id }>(
    options: ListingOptions<Row>,
    operation: Operation,
    resource: string,
    decode: DecodeRow<Row>,
    updatedOf?: (row: Row) => string | null,
  ): Promise<Listing<Row>> =>
    await readListing<Row>({
      ...options,
      ...pages,
      updatedOf,
      fetchPage: async (page, known) => {
        const body = { ...options.filter, ...page };
        const long = { property: null, decode: decodeList(resource, decode) };
        const list = { long, isLeft: (digest: string) => digest === known };
        return takePage(await call({ operation, body, list }), (whole) =>
          decodePage(whole, resource, decode),
        );
      },
    });
  const readRow = async <Row extends { readonly id: Id }>(
    id: Id,
    operation: Operation,
    resource: string,
    decode: DecodeRow<Row>,
  ): Promise<Row | null> =>
    await nullIfMissing(async () => {
      const path = operation.path.replace('{id}', String(id));
      return decodeOne(await call({ operation, path }), resource, id, decode);
    });

  return {
    tags: (options) => list(options, operations.tags, 'tags', decodeTag, (tag) => tag.updated),
    tag: (id) => readRow(id, operations.tag, 'tag', decodeTag),
    contactFields: (options) => list(options, operations.contactFields, 'contact fields', decodeContactField),
    contactCount: async (body) => decodeCount(await call({ operation: operations.contactCount, body })),
    surveys: (options) => list(options, operations.surveys, 'surveys', decodeSurvey),
    survey: (id) => readRow(id, operations.survey, 'survey', decodeSurvey),
  };
}
