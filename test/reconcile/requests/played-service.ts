/** A service in memory whose requests are lost, late, doubled, answered in part or refused, as a seed has it. */
import { ServiceError } from '../../../src/errors.ts';
import type { Id } from '../../../src/model/id.ts';
import type { ListedRow } from '../../../src/model/listed-resource.ts';
import type { ScheduleRequest } from '../../../src/model/message-request.ts';
import type { SendOptions } from '../../../src/model/service-request.ts';
import type { ServicePort } from '../../../src/reconcile/ports.ts';
import { canonicalTag } from '../../../src/reconcile/requests/send-request.ts';

/** The end of a process: nothing after it is carried out or recorded. */
export class Killed extends Error {}

export const faults = [
  'none',
  'lost before',
  'lost after',
  'late',
  'doubled',
  'partial answer',
  'throttled',
  'refused',
  'server error',
  'killed before',
  'killed after',
] as const;
export type PlayedFault = (typeof faults)[number];

interface PlayedMessage {
  readonly id: Id;
  readonly request: ScheduleRequest;
  readonly isCancelled: boolean;
}

export interface PlayedVariants {
  readonly localIds: 'unique' | 'ignored';
  readonly sameTag: 'another' | 'existing' | 'refused';
}

const failure = (operation: string, phase: 'sent' | 'answered', status?: number) =>
  new ServiceError(`${operation} went wrong`, { operation, phase, status });

export function createPlayedService(variants: PlayedVariants, nextFault: (write: boolean) => PlayedFault) {
  const messages = new Map<Id, PlayedMessage>();
  const tags: { id: Id; tag: string }[] = [];
  const late: (() => unknown)[] = [];
  let lastId = 1000n;
  const next = () => (lastId += 1n);

  const create = (request: ScheduleRequest): Id => {
    const same = [...messages.values()].find((one) => one.request.localId === request.localId);
    if (variants.localIds === 'unique' && same !== undefined) return same.id;
    const id = next();
    messages.set(id, { id, request, isCancelled: false });
    return id;
  };
  const change = (id: Id, to: Partial<PlayedMessage>): Id => {
    const there = messages.get(id);
    if (there === undefined || there.isCancelled) throw failure('PUT /v1/schedule/{id}', 'answered', 404);
    messages.set(id, { ...there, ...to });
    return id;
  };
  const createTag = (tag: string): Id => {
    const same = tags.find((one) => canonicalTag(one.tag) === canonicalTag(tag));
    if (same !== undefined && variants.sameTag === 'existing') return same.id;
    if (same !== undefined && variants.sameTag === 'refused') throw failure('POST /v1/tag', 'answered', 400);
    const id = next();
    tags.push({ id, tag });
    return id;
  };

  /** One request: what leads to it, its effect, and what comes back, if anything does. */
  async function play<R>(operation: string, effect: () => R, options: SendOptions | undefined): Promise<R> {
    const fault = nextFault(options !== undefined);
    if (fault === 'killed before') throw new Killed();
    await options?.beforeSend?.();
    options?.atStart?.();
    switch (fault) {
      case 'lost before':
        throw failure(operation, 'sent');
      case 'refused':
        throw failure(operation, 'answered', 400);
      case 'throttled':
        throw failure(operation, 'answered', 429);
      case 'late':
        late.push(effect);
        throw failure(operation, 'sent', 504);
      case 'doubled': {
        const first = effect();
        effect();
        return first;
      }
      case 'lost after':
      case 'partial answer':
        effect();
        throw failure(operation, 'sent');
      case 'server error':
        effect();
        throw failure(operation, 'sent', 500);
      case 'killed after':
        effect();
        throw new Killed();
      case 'none':
        return effect();
      default:
        return fault satisfies never;
    }
  }

  const written = (id: Id) => ({ id, requestId: null });
  const notAsked = () => Promise.reject(new Error('nothing about users is asked here'));
  const service: ServicePort = {
    users: notAsked,
    askEverybody: notAsked,
    updateUsers: notAsked,
    row: notAsked,
    contactCount: notAsked,
    readConversation: notAsked,
    list: (resource) =>
      play(
        'POST /v1/tags',
        () => ({
          status: 'complete',
          rows: resource.name === 'tags' ? tags.map(({ id, tag }): ListedRow => ({ id, tag, raw: {} })) : [],
          count: tags.length,
          rejected: [],
          memory: { numbering: null, pages: null } as never,
          requests: 1,
          digests: undefined,
          isAsKnown: false,
          isOffered: true,
        }),
        undefined,
      ),
    createTag: async (tag, options) => written(await play('POST /v1/tag', () => createTag(tag), options)),
    createSchedule: async (request, options) =>
      written(await play('POST /v1/schedule', () => create(request), options)),
    replaceSchedule: async (id, request, options) =>
      written(await play('PUT /v1/schedule/{id}', () => change(id, { request }), options)),
    cancelSchedule: async (id, options) =>
      written(await play('DELETE /v1/schedule/{id}', () => change(id, { isCancelled: true }), options)),
    shownSchedule: (id) =>
      play(
        'GET /v1/schedule/{id}',
        () => {
          const found = messages.get(id);
          if (found === undefined || found.isCancelled) return null;
          const { content, executeAt, inboxId } = found.request;
          return {
            shown: { text: content.text, execute_at: executeAt, inbox_id: Number(inboxId) },
            raw: { id: Number(id) },
          };
        },
        undefined,
      ),
  };
  return {
    service,
    messages,
    tags,
    /** What was under way arrives. */
    arrive: () => {
      for (const effect of late.splice(0)) {
        try {
          effect();
        } catch {
          // It is refused, and nobody hears of it.
        }
      }
    },
    /** Somebody changes or cancels it in the web app. */
    changeThere: (id: Id, to: Partial<PlayedMessage>) => {
      try {
        change(id, to);
      } catch {
        // It was cancelled before.
      }
    },
  };
}
