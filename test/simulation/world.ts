/**
 * Virtual time. Clocks, timers and randomness of this process belong to it: whatever is imported afterwards, of src or of a
 * package, waits in one heap of events, in an order that a seed decides. A process within is a name, a clock of its own, and
 * events that are dropped once it is dead.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import { createRandom, type Random, seedOf } from '../../src/emulator/random.ts';

const load = createRequire(import.meta.url);
const real = { setImmediate, Date };

/** One running musterd, or whatever else can be paused and killed. */
export interface Process {
  readonly name: string;
  /** The host by which it knows the database. */
  readonly host: string;
  /** How far its wall clock is ahead, in ms. */
  skewMs: number;
  pausedUntilMs: number;
  isDead: boolean;
  /** Called when it is killed. */
  readonly onDeath: (() => void)[];
}

interface Event {
  readonly at: number;
  readonly order: number;
  readonly owner: Process | null | undefined;
  readonly run: () => void;
  isCancelled: boolean;
}

export interface World {
  readonly seed: number;
  /** True time, in ms since 1970. */
  now(): number;
  /** Of its own for each purpose, so that one more draw here changes nothing there. */
  random(purpose: string): Random;
  /** Of the current process, unless told otherwise; `null`: of none. */
  after(ms: number, run: () => void, owner?: Process | null): { cancel(): void };
  /** Runs the work as this process: its clock counts, and it ends with the process. */
  as<R>(process: Process, work: () => R): R;
  current(): Process | undefined;
  /** Lets events happen until the work is done. @throws Error if nothing is left to happen, or too much has */
  settle<R>(work: Promise<R>): Promise<R>;
  kill(process: Process): void;
  pause(process: Process, ms: number): void;
  trace(text: string): void;
  readonly lines: string[];
  readonly events: number;
}

export const startMs = Date.UTC(2030, 0, 7, 8);
const mostEvents = 400_000;
const running = new AsyncLocalStorage<Process>();
/** The world whose time it is now; there is one at a time. */
let world: (World & { readonly wallMs: () => number; readonly draw: Random }) | undefined;
let databaseSkewMs: number | undefined;
/** What the database draws, apart from all else. */
let databaseDraw = createRandom(0);

export function resetDatabaseDraws(seed: number): void {
  databaseDraw = createRandom(seedOf(`${seed} of the database`));
}

const here = () => {
  if (world === undefined) throw new Error('there is no world');
  return world;
};

/** While the database works, its clock counts. */
export function asDatabase<R>(work: () => R, skewMs = 0): R {
  databaseSkewMs = skewMs;
  try {
    return work();
  } finally {
    databaseSkewMs = undefined;
  }
}

/** Where the mirror is at home at first. */
export const homeHost = 'db.example.net';

export const createProcess = (name: string, skewMs = 0, host = homeHost): Process => ({
  name,
  host,
  skewMs,
  pausedUntilMs: 0,
  isDead: false,
  onDeath: [],
});

/** A binary heap, the earliest event first. */
function createHeap() {
  const heap: Event[] = [];
  const isBefore = (a: Event, b: Event) => a.at < b.at || (a.at === b.at && a.order < b.order);
  const swap = (i: number, j: number) => {
    [heap[i], heap[j]] = [heap[j] as Event, heap[i] as Event];
  };
  return {
    push: (event: Event) => {
      let at = heap.push(event) - 1;
      for (let up = (at - 1) >> 1; at > 0 && isBefore(event, heap[up] as Event); up = (at - 1) >> 1) {
        swap(at, up);
        at = up;
      }
    },
    pop: (): Event | undefined => {
      const [first] = heap;
      const last = heap.pop();
      if (first === undefined || last === undefined || heap.length === 0) return first;
      heap[0] = last;
      for (let at = 0; ; ) {
        let least = at;
        for (const child of [2 * at + 1, 2 * at + 2])
          if (child < heap.length && isBefore(heap[child] as Event, heap[least] as Event)) least = child;
        if (least === at) return first;
        swap(at, least);
        at = least;
      }
    },
  };
}

/** All microtasks that are due. */
const drain = () => new Promise<void>((resolve) => real.setImmediate(resolve));

export function createWorld(seed: number): World {
  const heap = createHeap();
  const lines: string[] = [];
  let nowMs = startMs;
  let order = 0;
  let events = 0;
  const after: World['after'] = (ms, run, owner = running.getStore()) => {
    order += 1;
    const within = AsyncLocalStorage.snapshot();
    const at = nowMs + Math.max(0, ms);
    const event: Event = { at, order, owner, run: () => within(run), isCancelled: false };
    heap.push(event);
    return {
      cancel: () => {
        event.isCancelled = true;
      },
    };
  };
  const step = (event: Event): boolean => {
    if (event.isCancelled || event.owner?.isDead === true) return false;
    const until = event.owner?.pausedUntilMs ?? 0;
    if (until > event.at) {
      order += 1;
      heap.push({ ...event, at: until, order });
      return false;
    }
    nowMs = Math.max(nowMs, event.at);
    events += 1;
    event.run();
    return true;
  };
  const made = {
    seed,
    lines,
    get events() {
      return events;
    },
    draw: createRandom(seedOf(`${seed} draws`)),
    now: () => nowMs,
    wallMs: () => Math.floor(nowMs + (databaseSkewMs ?? running.getStore()?.skewMs ?? 0)),
    random: (purpose: string) => createRandom(seedOf(`${seed} ${purpose}`)),
    after,
    as: <R>(process: Process, work: () => R) => running.run(process, work),
    current: () => running.getStore(),
    settle: async <R>(work: Promise<R>): Promise<R> => {
      let isOver = false;
      const over = () => {
        isOver = true;
      };
      work.then(over, over);
      await drain();
      while (!isOver) {
        const event = heap.pop();
        if (event === undefined) throw new Error('nothing is left to happen, and the work is not done');
        if (!step(event)) continue;
        if (events > mostEvents) throw new Error(`more than ${mostEvents} events`);
        await drain();
      }
      return await work;
    },
    kill: (process: Process) => {
      if (process.isDead) return;
      process.isDead = true;
      for (const then of process.onDeath) then();
    },
    pause: (process: Process, ms: number) => {
      process.pausedUntilMs = Math.max(process.pausedUntilMs, nowMs + ms);
    },
    trace: (text: string) => {
      const seconds = ((nowMs - startMs) / 1_000).toFixed(3).padStart(10);
      lines.push(`${seconds} ${text}`);
    },
  };
  world = made;
  return made;
}

const isTimer = (handle: unknown): handle is { clear(): void } =>
  typeof handle === 'object' && handle !== null && 'clear' in handle;

/** What `setTimeout` gives back. */
function createTimer(ms: number | undefined, run: () => void, repeats: boolean) {
  let waiting = here().after(ms ?? 0, fire);
  function fire() {
    if (repeats) waiting = here().after(Math.max(1, ms ?? 0), fire);
    run();
  }
  const timer = {
    clear: () => waiting.cancel(),
    ref: () => timer,
    unref: () => timer,
    hasRef: () => true,
    refresh: () => {
      waiting.cancel();
      waiting = here().after(ms ?? 0, fire);
      return timer;
    },
    close: () => {
      waiting.cancel();
      return timer;
    },
  };
  return timer;
}

const clear = (handle: unknown) => {
  if (isTimer(handle)) handle.clear();
};

/** Resolves after `ms`; rejects when the signal is aborted. */
function sleep(ms: number | undefined, value: unknown, signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      timer.clear();
      reject(
        Object.assign(new Error('The operation was aborted'), { name: 'AbortError', code: 'ABORT_ERR' }),
      );
    };
    const timer = createTimer(
      ms,
      () => {
        signal?.removeEventListener('abort', abort);
        resolve(value);
      },
      false,
    );
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

function fill<T extends ArrayBufferView>(view: T): T {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const draw = databaseSkewMs === undefined ? here().draw : databaseDraw;
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = draw.between(0, 255);
  return view;
}
const bytesOf = (length: number) => Buffer.from(fill(new Uint8Array(length)));
function uuid(): string {
  const hex = bytesOf(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** From now on this process lives in virtual time. `socket`: what stands in for a TCP connection. */
export function install(socket: new () => object): void {
  const timers = {
    setTimeout: (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) =>
      createTimer(ms, () => run(...given), false),
    setInterval: (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) =>
      createTimer(ms, () => run(...given), true),
    setImmediate: (run: (...given: unknown[]) => void, ...given: unknown[]) =>
      createTimer(0, () => run(...given), false),
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  };
  type Options = { readonly signal?: AbortSignal } | undefined;
  const promised = {
    setTimeout: (ms?: number, value?: unknown, options?: Options) => sleep(ms, value, options?.signal),
    setImmediate: (value?: unknown, options?: Options) => sleep(0, value, options?.signal),
  };
  const random = {
    randomUUID: uuid,
    randomBytes: bytesOf,
    randomFillSync: fill,
    randomInt: (low: number, high?: number) =>
      high === undefined ? here().draw.between(0, low - 1) : here().draw.between(low, high - 1),
  };
  Object.assign(globalThis, timers);
  Object.assign(load('node:timers'), timers);
  Object.assign(load('node:timers/promises'), promised);
  Object.assign(load('node:crypto'), random);
  Object.assign(load('node:net'), { Socket: socket });
  Object.defineProperty(globalThis.crypto, 'getRandomValues', {
    value: fill,
    configurable: true,
    writable: true,
  });
  Object.defineProperty(globalThis.crypto, 'randomUUID', { value: uuid });
  // All processes of a world are one to the lease, which therefore waits until that of a dead one expires.
  Object.defineProperty(process, 'pid', { value: 4_242 });
  Object.defineProperty(process, 'kill', { value: () => true });
  Math.random = () => here().draw.fraction();
  Object.defineProperty(performance, 'now', { value: () => here().now() - startMs });
  class VirtualDate extends real.Date {
    constructor(...given: [] | [number]) {
      super(...((given.length === 0 ? [here().wallMs()] : given) as [number]));
    }
    static override now() {
      return here().wallMs();
    }
  }
  globalThis.Date = VirtualDate as DateConstructor;
  syncBuiltinESMExports();
}
