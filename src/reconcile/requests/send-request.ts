/** Sends one request that was written down, and finds out what became of it, even if it got no answer. */
import { MusterdError, ServiceError } from '../../errors.ts';
import type { ListedRow } from '../../model/listed-resource.ts';
import { listedResources } from '../../model/listed-resources.ts';
import { nothingLearned } from '../../model/listing.ts';
import type { OpenRequest, RequestOutcome, RequestState, Requests, Wanted } from '../../model/requests.ts';
import type { SendOptions } from '../../model/service-request.ts';
import type { ServicePort } from '../ports.ts';
import { isRefusal } from '../read/ask.ts';
import { isAsSent, toConversationRead, toScheduleRequest } from './message-wire.ts';

export interface Answered {
  readonly outcome: RequestOutcome;
  readonly requestId: string | null;
  /** The error that ends the run once this is recorded. */
  readonly error?: unknown;
}

/**
 * The form in which names of tags are compared. Names that differ only in case, spaces or Unicode composition are the
 * same tag.
 */
export const canonicalTag = (name: string): string =>
  name.normalize('NFC').trim().replaceAll(/\s+/g, ' ').toLowerCase();

const nameIn = (row: Wanted | null): string => (typeof row?.['tag'] === 'string' ? row['tag'] : '');

export type TagsByName = ReadonlyMap<string, readonly ListedRow[]>;

/** Reads the listing of the tags to its end, without a filter. @returns `null` if there may be more of them */
export async function readTags(service: ServicePort): Promise<TagsByName | null> {
  const tags = listedResources.find(({ name }) => name === 'tags');
  if (tags === undefined) throw new Error('tags are not listed');
  const listing = await service.list(tags, { memory: nothingLearned });
  if (listing.status === 'incomplete' || !listing.isOffered || listing.rejected.length > 0) return null;
  return Map.groupBy(listing.rows, (row) => canonicalTag(nameIn(row)));
}

/**
 * The tag that has this name: the very same one, or one that differs only in case, spaces or composition. If the
 * service has several such tags, it tells them apart, and so do we.
 */
export function findTag(tags: TagsByName, wanted: Wanted | null): ListedRow | undefined {
  const name = nameIn(wanted);
  const alike = tags.get(canonicalTag(name)) ?? [];
  const names = new Set(alike.map((row) => row['tag']));
  return alike.find((row) => row['tag'] === name) ?? (names.size === 1 ? alike[0] : undefined);
}

const confirmed = (id: bigint | null, answer: string | null = null): RequestOutcome => ({
  kind: 'confirmed',
  id,
  answer,
});

/** @throws what the client throws */
async function call(
  service: ServicePort,
  request: RequestState,
  sent: Wanted | null,
  { times }: Requests,
  options: SendOptions,
): Promise<Answered> {
  const { id, localId, kind } = request;
  if (kind === 'tag') {
    const made = await service.createTag(String(sent?.['tag']), options);
    return { outcome: confirmed(made.id), requestId: made.requestId };
  }
  if (kind === 'conversation_read') {
    const { answer, requestId } = await service.readConversation(toConversationRead(sent ?? {}), options);
    return { outcome: confirmed(null, answer), requestId };
  }
  if (sent === null) {
    const { requestId } = await service.cancelSchedule(id ?? 0n, options);
    return { outcome: confirmed(id), requestId };
  }
  const body = toScheduleRequest(localId, sent);
  const made =
    id === null
      ? await service.createSchedule(body, { ...options, times })
      : await service.replaceSchedule(id, body, { ...options, times });
  return { outcome: confirmed(id ?? made.id), requestId: made.requestId };
}

const say = ({ status, label, message }: ServiceError): string =>
  status === undefined
    ? message
    : `the service answered ${status}${label === undefined ? '' : `, "${label}"`}`;

/** Whether the service refused the request itself. */
const refuses = (error: ServiceError): boolean => error.status === 403 || isRefusal(error);

/** Sends it once. An error that concerns the whole run is in the answer, to be thrown once the outcome is recorded. */
export async function sendOpenRequest(
  service: ServicePort,
  request: RequestState,
  open: OpenRequest,
  now: Requests,
  options: SendOptions,
): Promise<Answered> {
  const { sent } = open;
  try {
    return await call(service, request, sent, now, options);
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      if (error instanceof MusterdError && error.code === 'stopped')
        return { outcome: { kind: 'unsent' }, requestId: null, error };
      throw error;
    }
    const requestId = error.requestId ?? null;
    const isRefused = refuses(error);
    // If the service has the message, a refusal may mean that its time has come, or that somebody has cancelled it.
    if (isRefused && request.kind === 'message' && request.id !== null)
      return { outcome: await lookAgain(service, request, open, say(error)), requestId };
    // A tag that is refused may be there all the same, made by a request that came twice.
    const made =
      isRefused && request.kind === 'tag' ? findTag((await readTags(service)) ?? new Map(), sent) : undefined;
    if (made !== undefined) return { outcome: confirmed(made.id), requestId };
    if (isRefused) return { outcome: { kind: 'refused', detail: say(error) }, requestId };
    if (error.phase === 'not-sent' || [401, 429].includes(error.status ?? 0))
      return { outcome: { kind: 'unsent' }, requestId, error };
    return { outcome: unknownOf(request, now, say(error)), requestId };
  }
}

/** The service may have the message, but only its id would find it, so nobody here can find out more. */
export function unknownOf(
  { kind, id, open, message }: RequestState,
  now: Requests,
  detail: string,
): RequestOutcome {
  const mayRepeat = now.localIds === 'unique' && (message?.dueInMs ?? 0) > now.times.marginMinutes * 60_000;
  const isForGood = kind === 'message' && id === null && open?.sent !== null && !mayRepeat;
  return { kind: kind === 'conversation_read' ? 'unanswered' : 'unknown', isForGood, detail };
}

const isOver = ({ message }: RequestState): boolean => (message?.baseDueInMs ?? 1) <= 0;

/** Looks at a message that was not replaced or cancelled as it should have been. */
async function lookAgain(
  service: ServicePort,
  request: RequestState,
  { sent }: OpenRequest,
  why: string,
): Promise<RequestOutcome> {
  const found = await service.shownSchedule(request.id ?? 0n);
  if (found === null) return missing(request, sent);
  if (sent === null && isOver(request)) return { kind: 'late', detail: `the cancel came too late: ${why}` };
  if (isOver(request)) return { kind: 'late', detail: `it came too late: ${why}` };
  return { kind: 'refused', detail: why };
}

/** The service has the message no longer. */
function missing(request: RequestState, sent: Wanted | null): RequestOutcome {
  if (isOver(request))
    return {
      kind: 'late',
      detail:
        sent === null
          ? 'the cancel came too late, or just in time: the service has it no longer'
          : 'its time has passed',
    };
  return sent === null
    ? confirmed(request.id)
    : { kind: 'gone', detail: 'somebody has cancelled it on the service' };
}

/** Finds out what became of a replacement or cancel that got no answer, by reading the message. */
export async function readBackMessage(
  service: ServicePort,
  request: RequestState,
  { sent, ageMs }: OpenRequest,
  quietPeriodMs: number,
): Promise<RequestOutcome> {
  const found = await service.shownSchedule(request.id ?? 0n);
  if (found === null) return missing(request, sent);
  if (sent !== null && isAsSent(found.shown, sent)) return confirmed(request.id);
  if (isOver(request))
    return { kind: 'late', detail: sent === null ? 'the cancel came too late' : 'it came too late' };
  // A cancel does no harm twice. A replacement that is late would undo a newer one.
  if (sent === null || ageMs >= quietPeriodMs)
    return isAsSent(found.shown, request.base ?? {})
      ? { kind: 'unanswered' }
      : { kind: 'conflict', shown: found.shown };
  return { kind: 'unknown', isForGood: false, detail: 'it was sent, and no answer came' };
}
