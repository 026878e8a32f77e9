import { alterAnswer, alterBody, alterCall, withEmptyObjects } from '../faults/alter-answer.ts';
import { authenticate } from './authenticate.ts';
import { type EndpointAnswer, type EndpointCall, type Endpoint, notFound, refused } from './endpoint.ts';
import { faultOf } from '../faults/fault-box.ts';
import { type Fault, type FaultOf, parameter } from '../faults/faults.ts';
import { rehearse } from '../faults/late-writes.ts';
import { playAfter, playBefore } from '../faults/play-edits.ts';
import { preventsEffect, replaceAnswer } from '../faults/replace-answer.ts';
import type { LoggedRequest } from './request-log.ts';
import type { PlayedTeam } from '../rules/played-team.ts';
import type { Variants } from '../faults/variants.ts';
import { type Outgoing, type Wire, wireOf } from './write-answer.ts';
import type { EmulatorWorld } from '../world.ts';

interface Incoming {
  readonly logged: LoggedRequest;
  readonly authorization: string | undefined;
  /** The body as text; empty if the request has no body. */
  readonly text: string;
  /** The value of `{id}` in the path. */
  readonly id: string | undefined;
}

/** The answer to one request, and the way in which its bytes are sent. */
interface AnswerToSend {
  readonly outgoing: Outgoing;
  readonly wire: Wire;
}

/** A request in progress: its context and its faults. */
interface RequestInProgress {
  readonly world: EmulatorWorld;
  readonly incoming: Incoming;
  /** `undefined` if the interface has no such path. */
  readonly endpoint: Endpoint | undefined;
  readonly body: unknown;
  /** The team of the credentials. If there is no team, `unauthorized` is the reason. */
  readonly team: PlayedTeam | undefined;
  readonly unauthorized: string | undefined;
  readonly faults: readonly Fault[];
}

interface Outcome {
  readonly answer: EndpointAnswer;
  readonly headers: Readonly<Record<string, string>>;
}

const unparsable = Symbol('a body that is not JSON');

/** Answers one request. `endpoint` is undefined if the interface has no such path. */
export async function answerRequest(
  world: EmulatorWorld,
  endpoint: Endpoint | undefined,
  incoming: Incoming,
): Promise<AnswerToSend> {
  const passage = enter(world, endpoint, incoming);
  const { faults, team } = passage;
  const { logged } = incoming;
  await playBefore(faults, team, logged.path, world.clock);
  const prevented = faults.some(preventsEffect);
  const { answer, headers = {} } = prevented
    ? { answer: { status: 503, body: 'error' } }
    : await admit(passage);
  logged.why = answer.why;
  const outgoing = {
    status: answer.status,
    headers: {
      date: new Date(world.clock.now()).toUTCString(),
      'content-type': 'application/json; charset=utf-8',
      ...headers,
    },
    text: world.hooks.runRewrites(JSON.stringify(answer.body), logged),
  };
  return { outgoing: replaceAnswer(faults, outgoing, world.clock), wire: wireOf(faults) };
}

/** Reads credentials and body, and finds the faults that apply to the request. */
function enter(world: EmulatorWorld, endpoint: Endpoint | undefined, incoming: Incoming): RequestInProgress {
  const { logged, text, authorization } = incoming;
  const body = parseBody(text);
  logged.body = body === unparsable ? text : body;
  const authentication = authenticate(authorization, world.teams, world.clock.now(), world.variants);
  const team = 'team' in authentication ? authentication.team : undefined;
  logged.team = team?.id;
  logged.credential = 'team' in authentication ? authentication.credential : undefined;
  world.late.settle(logged.number, world.clock.now());
  const faults = world.faults.take(logged);
  logged.faults = faults.map((fault) => fault.kind);
  const unauthorized = 'refused' in authentication ? authentication.refused : undefined;
  return { world, incoming, endpoint, body, team, unauthorized, faults };
}

/** Checks the authentication first, then the rate limit, and then carries out the request. */
async function admit(passage: RequestInProgress): Promise<Outcome> {
  const { world, incoming, team, faults } = passage;
  if (team === undefined) {
    return {
      answer: { status: 401, body: 'Unauthorized', why: passage.unauthorized ?? 'no team' },
      headers: {},
    };
  }
  const waitMs = limitOf(world, team);
  if (waitMs > 0) {
    return {
      answer: { status: 429, body: 'too many requests', why: 'rate limit' },
      headers: retryAfter(world, waitMs),
    };
  }
  await world.hooks.runBefore(incoming.logged);
  const answer = perform(passage, team);
  playAfter(faults, team, world.clock);
  await world.hooks.runAfter(incoming.logged);
  return { answer, headers: {} };
}

/** Carries out the request now, or later if the fault `late` applies. */
function perform(passage: RequestInProgress, team: PlayedTeam): EndpointAnswer {
  const { world, incoming, endpoint, faults } = passage;
  if (endpoint === undefined) return notFound('the interface shows no such path');
  if (passage.body === unparsable) return refused('the body is not JSON', endpoint.label);
  const body = bodyFor(endpoint, passage.body, world.variants);
  const endpointCall: EndpointCall = {
    team,
    variants: world.variants,
    clock: world.clock,
    id: /^-?\d+$/.test(incoming.id ?? '') ? Number(incoming.id) : Number.NaN,
    shown: () => true,
  };
  const call = alterCall(faults, endpointCall, () => world.stranger(team));
  const once = (): EndpointAnswer => endpoint.answer(call, alterBody(faults, endpoint, body));
  const doubled = endpoint.writes ? faultOf(faults, 'doubled') : undefined;
  const write = doubled === undefined ? once : () => writeTwice(once, doubled);
  const late = endpoint.writes ? faultOf(faults, 'late') : undefined;
  const answer = late === undefined ? write() : postpone(passage, late, endpoint, call.team, write);
  return alterAnswer(faults, endpoint, call, body, answer);
}

function writeTwice(write: () => EndpointAnswer, doubled: FaultOf<'doubled'>): EndpointAnswer {
  const [first, second] = [write(), write()];
  return parameter(doubled, 'answer') === 'first' ? first : second;
}

/** Delays the write. With `answer=ok`, an update of users is answered as if done, and other writes are not delayed. */
function postpone(
  passage: RequestInProgress,
  late: FaultOf<'late'>,
  endpoint: Endpoint,
  team: PlayedTeam,
  write: () => EndpointAnswer,
): EndpointAnswer {
  const { world, incoming } = passage;
  const answered = parameter(late, 'answer') === 'ok';
  if (answered && endpoint.path !== '/v1/users/update') return write();
  world.late.add({
    requestNumber: incoming.logged.number + parameter(late, 'requests'),
    dueMs: world.clock.now() + parameter(late, 'ms'),
    apply: write,
  });
  return answered ? rehearse(team, write) : { status: 504, body: 'error', why: 'the write comes later' };
}

/** The body as the endpoint reads it. Clients can leave out an optional body, and some write `[]` for an empty object. */
function bodyFor({ request, bodyRequired }: Endpoint, body: unknown, variants: Variants): unknown {
  if (body === undefined) return bodyRequired ? undefined : {};
  if (request === undefined || variants['empty-list'] === 'refused') return body;
  return withEmptyObjects(request, body);
}

function limitOf(world: EmulatorWorld, team: PlayedTeam): number {
  const limit = world.rateLimits.get(team.id);
  return limit?.take(world.clock.now(), team.ratePerMinute, world.variants['rate-window']) ?? 0;
}

/** The Retry-After header of a 429, as the variant demands. The interface documents no such header. */
function retryAfter(world: EmulatorWorld, waitMs: number): Record<string, string> {
  switch (world.variants['retry-after']) {
    case 'absent':
      return {};
    case 'seconds':
      return { 'retry-after': String(Math.ceil(waitMs / 1000)) };
    case 'date':
      return { 'retry-after': new Date(world.clock.now() + waitMs).toUTCString() };
    case 'nonsense':
      return { 'retry-after': 'soon-ish' };
    default:
      return world.variants['retry-after'] satisfies never;
  }
}

function parseBody(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return unparsable;
  }
}
