/// <reference lib="esnext.disposable" preserve="true" />
/** The entry of `musterd/client`, which other programs import: docs/client.md. */
import type { PaginationBody } from '../../model/contact-count.ts';
import type { Id } from '../../model/id.ts';
import contactFields from '../../model/listed/contact-fields.ts';
import inboxes from '../../model/listed/inboxes.ts';
import surveys from '../../model/listed/surveys.ts';
import tags from '../../model/listed/tags.ts';
import type { ListedResource, ListedRow } from '../../model/listed-resource.ts';
import { type ListingFilter, type ListingMemory, nothingLearned } from '../../model/listing.ts';
import type { ConversationRead, ScheduleRequest } from '../../model/message-request.ts';
import type { UserFilter, UsersAnswer } from '../../model/service-request.ts';
import type { Team } from '../../model/team.ts';
import { readable, type ServiceUser, type UserPatch } from '../../model/user.ts';
import type { MakeCall } from '../call.ts';
import { openChannel } from '../client.ts';
import { createListingEndpoints, listResource } from '../listing-endpoints.ts';
import { createMessageEndpoints } from '../messages/message-endpoints.ts';
import type { ScheduledMessage, WriteResult } from '../messages/wire-schedule.ts';
import { createRosterEndpoints } from '../roster-endpoints.ts';
import { iterateRows } from './iterate-rows.ts';
import { type ClientOptions, settingsOf } from './client-options.ts';
import type { ContactField, Inbox, Survey, Tag, User, UserList, UserUpdateRequest } from './resources.ts';

export { type ErrorCode, MusterdError, type Phase, ServiceError } from '../../errors.ts';
export type { PaginationBody } from '../../model/contact-count.ts';
export type { Id } from '../../model/id.ts';
export type { ListingFilter } from '../../model/listing.ts';
export type { NamePair } from '../../model/name.ts';
export type { PaceSettings } from '../../model/pace.ts';
export type { RejectedRow } from '../../model/rejected-row.ts';
export type {
  ConversationRead,
  GalleryEntry,
  ScheduleContent,
  ScheduleRequest,
} from '../../model/message-request.ts';
export type { UserFilter } from '../../model/service-request.ts';
export type { Team, TeamHead } from '../../model/team.ts';
export type { TeamMember } from '../../model/team-member.ts';
export type { ConnectionSettings } from '../connections.ts';
export type {
  OnEvent,
  RequestEvent,
  RetryEvent,
  ServiceEvent,
  ThrottledEvent,
  WarningCode,
  WarningEvent,
} from '../event.ts';
export type { HttpSettings } from '../http.ts';
export type { JsonObject } from '../json-object.ts';
export type {
  ScheduledAttachment,
  ScheduledContent,
  ScheduledImage,
  ScheduledMessage,
  ScheduledMeta,
  WriteResult,
} from '../messages/wire-schedule.ts';
export type { RetrySettings } from '../retry.ts';
export type { ClientOptions, SecretPair } from './client-options.ts';
export type * from './resources.ts';

/** Options of every call. */
export interface CallOptions {
  /** If this is aborted, the call ends at once with a {@link ServiceError}. Its `phase` shows if the request left. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of a paged listing. */
export interface ListOptions extends CallOptions {
  /** Rows to ask for per page; if absent, the most that the service gives, up to 1,000. */
  readonly pageSize?: number | undefined;
}

/** Options of a listing that takes the shared pagination body. */
export interface FilteredListOptions extends ListOptions {
  /** Sent with the request for each page; if absent, all rows are listed. */
  readonly filter?: ListingFilter | undefined;
}

/**
 * All endpoints of the service. Every call that gets no usable answer throws a {@link ServiceError} with the
 * `X-Request-Id`, if there is one. A listing requests its pages while the caller iterates over its rows.
 */
export interface Client extends AsyncDisposable {
  /** `GET /v1/inboxes`: all inboxes, in one answer. */
  inboxes(options?: CallOptions): Promise<readonly Inbox[]>;
  /** `GET /v1/users/get`: the users with these addresses; without addresses all users, if the deployment answers that. */
  users(filter: Partial<UserFilter>, options?: CallOptions): Promise<UserList>;
  /**
   * `POST /v1/users/update`: at most 25 users, each once. The answer has the users as they are now. It may lack some
   * users, and may have other values than the request.
   */
  updateUsers(updates: readonly UserUpdateRequest[], options?: CallOptions): Promise<UserList>;
  /** `GET /v1/team`: the team of the credentials, and its members. */
  team(options?: CallOptions): Promise<Team>;
  /** `POST /v1/contact-fields`. */
  contactFields(options?: FilteredListOptions): AsyncGenerator<ContactField, void, undefined>;
  /** `POST /v1/tags`. */
  tags(options?: FilteredListOptions): AsyncGenerator<Tag, void, undefined>;
  /** `POST /v1/contacts/count`: the number of contacts that match this pagination body, which is sent unchanged. */
  contactCount(body?: PaginationBody, options?: CallOptions): Promise<number>;
  /** `POST /v1/surveys`. */
  surveys(options?: ListOptions): AsyncGenerator<Survey, void, undefined>;
  /** `GET /v1/survey/{id}`; `null` if the service answers 404. */
  survey(id: Id, options?: CallOptions): Promise<Survey | null>;
  /** `POST /v1/tag`. */
  createTag(tag: string, options?: CallOptions): Promise<WriteResult>;
  /** `GET /v1/tag/{id}`; `null` if the service answers 404. */
  tag(id: Id, options?: CallOptions): Promise<Tag | null>;
  /** `POST /v1/conversations/read`: marks a conversation as read. Returns the service's string. */
  markConversationRead(request: ConversationRead, options?: CallOptions): Promise<string>;
  /** `POST /v1/schedule`. A request that is known to be invalid is not sent. The result has the `local_id` that was sent. */
  createSchedule(
    request: ScheduleRequest,
    options?: CallOptions,
  ): Promise<WriteResult & { readonly localId: string }>;
  /** `GET /v1/schedule/{id}`; `null` if the service answers 404. */
  schedule(id: Id, options?: CallOptions): Promise<ScheduledMessage | null>;
  /** `PUT /v1/schedule/{id}`, with the same checks as `createSchedule`. */
  replaceSchedule(id: Id, request: ScheduleRequest, options?: CallOptions): Promise<WriteResult>;
  /** `DELETE /v1/schedule/{id}`: cancels the message before it is sent. */
  cancelSchedule(id: Id, options?: CallOptions): Promise<void>;
  /** Ends waiting calls, lets requests in flight finish for at most 15 s, and closes the connections. */
  close(): Promise<void>;
}

/** A row with its fields in camel case. */
function toResource<Resource>(row: ListedRow): Resource {
  const named = Object.entries(row).map(([column, value]) => [
    column.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
    value,
  ]);
  return Object.fromEntries(named) as Resource;
}

function toUser(user: ServiceUser): User {
  const { id, teamId, createdAt, updatedAt, userCreatedAt, userUpdatedAt, raw } = user;
  return {
    id,
    name: readable(user.name) ?? null,
    email: readable(user.email) ?? null,
    phone: readable(user.phone) ?? null,
    roleId: readable(user.roleId) ?? null,
    teamId: teamId ?? null,
    createdAt: createdAt ?? null,
    updatedAt: updatedAt ?? null,
    userCreatedAt: userCreatedAt ?? null,
    userUpdatedAt: userUpdatedAt ?? null,
    raw,
  };
}

const toUsers = ({ users, rejected, requestId }: UsersAnswer): UserList => ({
  users: users.map(toUser),
  rejected,
  requestId,
});

function toPatches(updates: readonly UserUpdateRequest[]): ReadonlyMap<Id, UserPatch> {
  const patches = new Map(updates.map(({ id, ...patch }) => [id, patch]));
  if (patches.size === updates.length) return patches;
  throw new RangeError('a user is updated twice in one call');
}

/**
 * Makes a client of the service. It keeps connections and a pace of its own until it is closed.
 *
 * @throws MusterdError `configuration` for a base URL that is not https, empty credentials or settings out of bounds
 */
export function createClient(options: ClientOptions): Client {
  const closing = new AbortController();
  const channel = openChannel(settingsOf(options, closing.signal));
  const { pages } = channel;
  const callWith =
    ({ signal }: CallOptions): MakeCall =>
    (call) =>
      channel.call({ ...call, signal });
  const serviceNowMs = () => channel.serviceNowMs();
  const roster = (how: CallOptions) => createRosterEndpoints(callWith(how));
  const messages = (how: CallOptions) => createMessageEndpoints(callWith(how), serviceNowMs);
  const memories = new Map<ListedResource, ListingMemory>();

  async function* list<Row>(resource: ListedResource, { signal, pageSize, filter }: FilteredListOptions) {
    const memory = memories.get(resource) ?? nothingLearned;
    const rows = iterateRows(
      channel.call,
      async (call, sink) => {
        const listing = await listResource(call, pages, resource, { memory, sink, size: pageSize, filter });
        memories.set(resource, listing.memory);
        return listing;
      },
      `${resource.list.method} ${resource.list.path}`,
      signal,
    );
    for await (const row of rows) yield toResource<Row>(row);
  }
  async function row<Row>(resource: ListedResource, id: Id, how: CallOptions): Promise<Row | null> {
    const found = await createListingEndpoints(callWith(how), pages).row(resource, id);
    return found === null ? null : toResource<Row>(found);
  }
  const close = async () => {
    closing.abort();
    await channel.close();
  };

  return {
    inboxes: async (how = {}) => await Array.fromAsync(list<Inbox>(inboxes, how)),
    users: async ({ emails = [], phones = [] }, how = {}) =>
      toUsers(await roster(how).users({ emails, phones })),
    updateUsers: async (updates, how = {}) => toUsers(await roster(how).updateUsers(toPatches(updates))),
    team: (how = {}) => roster(how).team(),
    contactFields: (how = {}) => list<ContactField>(contactFields, how),
    tags: (how = {}) => list<Tag>(tags, how),
    contactCount: async (body = {}, how = {}) =>
      Number(await createListingEndpoints(callWith(how), pages).contactCount(body)),
    surveys: ({ signal, pageSize } = {}) => list<Survey>(surveys, { signal, pageSize }),
    survey: (id, how = {}) => row<Survey>(surveys, id, how),
    createTag: (tag, how = {}) => messages(how).createTag(tag),
    tag: (id, how = {}) => row<Tag>(tags, id, how),
    markConversationRead: async (request, how = {}) => (await messages(how).readConversation(request)).answer,
    createSchedule: (request, how = {}) => messages(how).createSchedule(request),
    schedule: (id, how = {}) => messages(how).schedule(id),
    replaceSchedule: (id, request, how = {}) => messages(how).replaceSchedule(id, request),
    cancelSchedule: async (id, how = {}) => {
      await messages(how).cancelSchedule(id);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
