/**
 * The service of a world: the emulator's endpoints called as functions, behind what undici calls a dispatcher. It keeps the
 * history of every value, and plays the faults that the seed draws.
 */
import type { Dispatcher } from 'undici';
import type { Endpoint, EndpointAnswer } from '../../src/emulator/wire/endpoint.ts';
import { endpoints } from '../../src/emulator/rules/endpoints.ts';
import { type PlayedTeam, putUser, type UserRecord } from '../../src/emulator/rules/played-team.ts';
import { laterThan, type UserChange, writeUser } from '../../src/emulator/rules/update-user.ts';
import type { Variants } from '../../src/emulator/faults/variants.ts';
import type { Process, World } from './world.ts';

export const faultNames = [
  'refused',
  'lost before',
  'lost after',
  'hang before',
  'hang after',
  'late',
  'slow',
  '429',
  '500 without effect',
  '500 with effect',
  '400',
  'partial',
  'cut body',
  'html',
  'stale',
  'rows left out',
  'empty',
] as const;
export type FaultName = (typeof faultNames)[number];

/** What one user looked like from a time on, and who made it so. */
export interface Version {
  readonly atMs: number;
  readonly by: 'person' | 'musterd' | 'start';
  readonly user: UserRecord;
}

/** One request as it was sent. */
export interface Sent {
  readonly id: number;
  readonly by: Process | undefined;
  readonly path: string;
  readonly isWrite: boolean;
  readonly body: { readonly users?: readonly Readonly<Record<string, unknown>>[] };
  /** When its first byte left. */
  readonly leftMs: number;
}

export interface Service {
  readonly team: PlayedTeam;
  /** What undici calls so: a request, and who is told of its answer. */
  readonly dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => boolean;
  readonly history: ReadonlyMap<number, Version[]>;
  readonly requests: number;
  readonly pushes: number;
  /** Somebody changes a user in the web app. */
  change(id: number, change: UserChange): void;
  /** A user leaves the team, or comes back. */
  leave(id: number): void;
  comeBack(id: number): boolean;
  /** No answer shows these users, as if a part of the service were away; and all are shown again. */
  hide(ids: readonly number[]): void;
  showAll(): void;
  /** Since when the user is there and shown, in ms; `undefined`: not now. */
  thereSince(id: number): number | undefined;
  /** These people are in the other team, too: name, email and phone are one there and here. */
  share(other: Service, ids: readonly number[]): void;
  /** Somebody changed what a user has in all teams. */
  follow(user: UserRecord): void;
  /** A write that is late has its effect right after the next answer about users, if it had none before. */
  hasten(request: number): void;
  /** Which fault befalls the next request; none in calm. */
  faultOf: (sent: Sent) => FaultName | undefined;
  /** Called when a request is about to be sent: whether it is, and whether its sender lives on. */
  onDispatch:
    | ((by: Process, isWrite: boolean, ids: readonly number[]) => 'send' | 'drop' | 'send and die')
    | undefined;
  /** Called right before the first byte leaves, and after that; of writes only. */
  onLeave: ((sent: Sent) => void) | undefined;
  /** Called when a write has its effect. */
  onApply: ((sent: Sent, before: ReadonlyMap<number, UserRecord>) => void) | undefined;
  /** Called when an answer with users is handed over: of when it tells. */
  onShown: ((sent: Sent, ids: readonly number[], asOfMs: number) => void) | undefined;
}

const handlerError = (code: string) => Object.assign(new Error(code), { code });

/** The endpoint that a request is for, and the id in its path. */
function route(
  method: string,
  path: string,
): { readonly endpoint: Endpoint | undefined; readonly id: number } {
  const [bare = ''] = path.split('?');
  const exact = endpoints.find((one) => one.method === method && one.path === bare);
  if (exact !== undefined) return { endpoint: exact, id: Number.NaN };
  const [, stem = '', id = ''] = /^(.*)\/(\d+)$/.exec(bare) ?? [];
  const endpoint = endpoints.find((one) => one.method === method && one.path === `${stem}/{id}`);
  return { endpoint, id: Number(id) };
}

export function createService(world: World, team: PlayedTeam, variants: Variants): Service {
  const random = world.random('service');
  // One service in three refuses each new phone number of some users, for ever.
  const stubborn = world.random('stubborn');
  const refusedOf = stubborn.between(0, 2) === 0 ? stubborn.between(0, 3) : undefined;
  const isRefused = ({ isWrite, body }: Sent) =>
    isWrite &&
    (body.users ?? []).some(({ id, phone }) => phone !== undefined && Number(id) % 4 === refusedOf);
  const history = new Map<number, Version[]>();
  const gone = new Map<number, UserRecord>();
  const clock = { now: () => Math.floor(world.now()), advance: () => {}, skewMs: () => 0 };
  let requests = 0;
  let pushes = 0;
  /** Snapshots of all users, for answers that are stale. */
  const past: { readonly atMs: number; readonly users: ReadonlyMap<number, UserRecord> }[] = [];
  const there = new Map<number, number>();
  const shared = new Map<number, Service>();

  const ofPerson = ({ first, last, email, phone }: UserRecord) => ({ first, last, email, phone });
  const isShown = (user: UserRecord | undefined) => user?.listed === true && user.answered;

  function note(by: Version['by']) {
    const fresh: UserRecord[] = [];
    for (const user of team.users.values()) {
      const versions = history.get(user.id) ?? [];
      if (versions.at(-1)?.user !== user) {
        versions.push({ atMs: world.now(), by, user });
        fresh.push(user);
      }
      history.set(user.id, versions);
    }
    for (const id of history.keys())
      if (!isShown(team.users.get(id))) there.delete(id);
      else if (!there.has(id)) there.set(id, world.now());
    for (const user of fresh) shared.get(user.id)?.follow(user);
    past.push({ atMs: world.now(), users: new Map(team.users) });
    if (past.length > 400) past.shift();
  }
  note('start');

  function staleTeam(): { readonly shown: PlayedTeam; readonly asOfMs: number } {
    const asOfMs = world.now() - 15_000;
    const then = past.findLast(({ atMs }) => atMs <= asOfMs) ?? past[0];
    const shown: PlayedTeam = {
      ...team,
      users: new Map(),
      usersByEmail: new Map(),
      usersByPhone: new Map(),
    };
    for (const user of then?.users.values() ?? []) putUser(shown, user);
    return { shown, asOfMs };
  }

  /** Late writes that have not had their effect, by request. */
  const overdue = new Map<number, () => void>();
  /** Those that have it right after the next answer about users. */
  const hastened = new Set<number>();

  function applyHastened() {
    for (const late of hastened) world.after(0, () => overdue.get(late)?.(), null);
    hastened.clear();
  }

  /** What an answer on its way tells, by request. */
  const shown = new Map<number, () => void>();

  function perform(sent: Sent, method: string, fault: FaultName | undefined): EndpointAnswer {
    const { endpoint, id } = route(method, sent.path);
    if (endpoint === undefined) return { status: 404, body: 'not found' };
    const left = fault === 'rows left out' ? random.between(0, 2) : -1;
    const stale = fault === 'stale' && !sent.isWrite ? staleTeam() : undefined;
    const call = {
      team: stale?.shown ?? team,
      variants,
      clock,
      id,
      shown: (row: number) => left < 0 || row % 3 !== left,
    };
    if (!endpoint.writes) {
      const answer = endpoint.answer(call, sent.body);
      if (endpoint.path === '/v1/users/get') applyHastened();
      const asOfMs = stale?.asOfMs ?? world.now();
      const { memberships } = (answer.body ?? {}) as { memberships?: readonly { id: number }[] };
      if (memberships !== undefined)
        shown.set(sent.id, () =>
          made.onShown?.(
            sent,
            memberships.map((user) => user.id),
            asOfMs,
          ),
        );
      if (fault === 'empty' && endpoint.path !== '/v1/team' && answer.status === 200)
        return { ...answer, body: Array.isArray(answer.body) ? [] : { memberships: [] } };
      return answer;
    }
    const before = new Map(team.users);
    const part = fault === 'partial' ? sent.body.users?.slice(0, random.between(0, 1)) : sent.body.users;
    const answer = endpoint.answer(call, { ...sent.body, users: part });
    note('musterd');
    world.trace(`  service: applies #${sent.id}: ${answer.status}`);
    made.onApply?.(sent, before);
    return answer;
  }

  function dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const owner = world.current();
    const path = String(options.path);
    const isWrite = path === '/v1/users/update';
    const body =
      typeof options.body === 'string' && options.body !== ''
        ? (JSON.parse(options.body) as Sent['body'])
        : {};
    requests += 1;
    const number = requests;
    let isAborted = false;
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      abort: (reason: Error) => {
        if (isAborted) return;
        isAborted = true;
        controller.aborted = true;
        handler.onResponseError?.(controller as never, reason);
      },
      pause: () => {},
      resume: () => {},
    };
    const fail = (code: string) => {
      if (isAborted) return;
      isAborted = true;
      handler.onResponseError?.(controller as never, handlerError(code));
    };
    const start = () => {
      const sent: Sent = { id: number, by: owner, path, isWrite, body, leftMs: world.now() };
      const fault = made.faultOf(sent);
      if (fault === 'refused') {
        fail('ECONNREFUSED');
        return;
      }
      handler.onRequestStart?.(controller as never, {});
      if (isAborted) return;
      if (isWrite) {
        pushes += 1;
        made.onLeave?.(sent);
      }
      world.trace(
        `${owner?.name ?? '?'} asks #${number} ${options.method} ${path} ${isWrite ? JSON.stringify(body.users) : JSON.stringify(body).slice(0, 80)}${fault === undefined ? '' : ` [${fault}]`}`,
      );
      arrive(sent, fault);
    };
    const reply = (answer: EndpointAnswer, fault: FaultName | undefined) => {
      const text = fault === 'html' ? '<html>Login</html>' : JSON.stringify(answer.body);
      const headers = {
        date: new Date(Math.floor(world.now())).toUTCString(),
        'content-type': fault === 'html' ? 'text/html' : 'application/json; charset=utf-8',
        'content-length': String(Buffer.byteLength(text)),
        'x-request-id': `r-${number}`,
      };
      const back = fault === 'slow' ? 2_000 + random.fraction() * 20_000 : 5 + random.fraction() * 60;
      world.after(
        back,
        () => {
          if (isAborted) return;
          handler.onResponseStart?.(
            controller as never,
            fault === 'html' ? 200 : answer.status,
            headers,
            'OK',
          );
          if (isAborted) return;
          const bytes = Buffer.from(text);
          if (fault === 'cut body') {
            handler.onResponseData?.(controller as never, bytes.subarray(0, bytes.length >> 1));
            fail('UND_ERR_SOCKET');
            return;
          }
          shown.get(number)?.();
          handler.onResponseData?.(controller as never, bytes);
          if (!isAborted) handler.onResponseEnd?.(controller as never, {});
        },
        owner,
      );
    };
    const arrive = (sent: Sent, fault: FaultName | undefined) => {
      const method = String(options.method);
      const there = 5 + random.fraction() * 60;
      if (fault === 'lost before') {
        world.after(there, () => fail('ECONNRESET'), owner);
        return;
      }
      if (fault === 'hang before') return;
      if (fault === 'late' && isWrite) {
        const apply = () => {
          if (overdue.delete(number)) perform(sent, method, undefined);
        };
        overdue.set(number, apply);
        world.after(1_000 + random.fraction() * 400_000, apply, null);
        if (random.between(0, 1) === 0) world.after(there, () => fail('ECONNRESET'), owner);
        return;
      }
      // What is under way reaches the service, whatever becomes of who sent it.
      world.after(
        there,
        () => {
          if (fault === '429') return reply({ status: 429, body: 'too many requests' }, undefined);
          if (fault === '500 without effect') return reply({ status: 500, body: 'error' }, undefined);
          if (fault === '400' || isRefused(sent)) return reply({ status: 400, body: 'error' }, undefined);
          const answer = perform(sent, method, fault);
          if (fault === 'hang after') return;
          if (fault === 'lost after') return fail('ECONNRESET');
          if (fault === '500 with effect') return reply({ status: 500, body: 'error' }, undefined);
          reply(answer, fault);
        },
        null,
      );
    };
    const ids = (body.users ?? []).map((item) => Number(item['id']));
    const how = owner === undefined ? 'send' : (made.onDispatch?.(owner, isWrite, ids) ?? 'send');
    // Of a process that has just died, what it had given to the network is sent.
    if (how !== 'drop') world.after(1 + random.fraction() * 5, start, how === 'send' ? owner : null);
    return true;
  }

  const made: Service = {
    team,
    history,
    get requests() {
      return requests;
    },
    get pushes() {
      return pushes;
    },
    dispatch,
    hide: (ids) => {
      for (const id of ids) {
        const user = team.users.get(id);
        if (user !== undefined) putUser(team, { ...user, listed: false, answered: false });
      }
      note('person');
      world.trace(`no answer shows ${ids.join(', ')}`);
    },
    showAll: () => {
      for (const user of team.users.values())
        if (!isShown(user)) putUser(team, { ...user, listed: true, answered: true });
      note('person');
      world.trace('all are shown again');
    },
    thereSince: (id) => there.get(id),
    share: (other, ids) => {
      for (const id of ids) shared.set(id, other);
    },
    follow: (of) => {
      const user = team.users.get(of.id);
      if (user === undefined || JSON.stringify(ofPerson(user)) === JSON.stringify(ofPerson(of))) return;
      const userUpdated =
        variants['updated-at'] === 'moves' ? laterThan(user.userUpdated, user.id, clock) : user.userUpdated;
      putUser(team, { ...user, ...ofPerson(of), userUpdated });
      note('person');
      world.trace(`${of.id} is changed through another team`);
    },
    change: (id, change) => {
      const user = team.users.get(id);
      if (user === undefined) return;
      writeUser(team, user, change, clock, variants['updated-at'] === 'moves');
      note('person');
      world.trace(`somebody sets ${id} to ${JSON.stringify(change)} on the service`);
    },
    leave: (id) => {
      const user = team.users.get(id);
      if (user === undefined) return;
      gone.set(id, user);
      putUser(team, { ...user, email: null, phone: null });
      team.users.delete(id);
      note('person');
      world.trace(`${id} leaves the team`);
    },
    comeBack: (id) => {
      const user = gone.get(id);
      if (user === undefined) return false;
      gone.delete(id);
      putUser(team, { ...user, updated: laterThan(user.updated, id, clock) });
      note('person');
      world.trace(`${id} comes back to the team`);
      return true;
    },
    hasten: (request) => void hastened.add(request),
    faultOf: () => undefined,
    onDispatch: undefined,
    onLeave: undefined,
    onApply: undefined,
    onShown: undefined,
  };
  return made;
}
