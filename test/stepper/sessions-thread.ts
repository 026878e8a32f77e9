/**
 * Sessions of a real Postgres, in a thread of their own, so that the other one can wait for a statement as if it were a
 * function. One statement is sent at a time. It has been answered, or it waits for another session, when a step is over.
 */
import type { Socket } from 'node:net';
import { type MessagePort, workerData } from 'node:worker_threads';
import pg from 'pg';
import { message, messagesIn, rowsIn } from '../simulation/wire.ts';

/** What is asked of this thread; every answer is a `Stepped`. */
export type Asked =
  /** A new database, made of the template; the one before it is dropped. */
  | { readonly what: 'begin'; readonly url: string; readonly template: string }
  | { readonly what: 'open' }
  | { readonly what: 'ask'; readonly sql: string }
  /** `endsWait`: it gives up at once if it has to wait, because its lock timeout is short. */
  | { readonly what: 'step'; readonly id: number; readonly bytes: Uint8Array; readonly endsWait: boolean }
  | { readonly what: 'end'; readonly id: number };

export interface Stepped {
  readonly id?: number;
  readonly error?: string;
  /** The answer to `ask`. */
  readonly bytes?: Uint8Array;
  /** What sessions have answered by now: the one that was asked, and those that no longer have to wait. */
  readonly answers: readonly { readonly id: number; readonly bytes: Uint8Array }[];
  /** Which session waits for which others. */
  readonly waits: readonly (readonly [number, readonly number[]])[];
}

interface Session {
  readonly id: number;
  readonly pid: number;
  readonly socket: Socket;
  received: Buffer;
  /** Up to here `received` is whole messages. */
  at: number;
  isBusy: boolean;
  isAnswered: boolean;
  endsWait: boolean;
  /** Whom it was last seen to wait for. */
  waitsFor: string;
}

const { port, signal } = workerData as { readonly port: MessagePort; readonly signal: Int32Array };
const sessions = new Map<number, Session>();
/** The database of this process. */
const own = `stepped_${process.pid}`;
let count = 0;
let url = '';
let watcher: Session | undefined;
/** Called whenever a session has answered. */
let wake = () => {};

/** Logs in with pg, and takes its socket over. */
async function open(to: string): Promise<Session> {
  const client = new pg.Client({ connectionString: to });
  await client.connect();
  const { connection, processID: pid } = client as unknown as {
    readonly connection: { readonly stream: Socket };
    readonly processID: number;
  };
  const socket = connection.stream.removeAllListeners('data').removeAllListeners('error');
  socket.removeAllListeners('close').removeAllListeners('end');
  count += 1;
  const session: Session = {
    id: count,
    pid,
    socket,
    received: Buffer.alloc(0),
    at: 0,
    isBusy: false,
    isAnswered: false,
    endsWait: false,
    waitsFor: '',
  };
  socket.on('data', (bytes: Buffer) => take(session, bytes)).on('error', () => {});
  socket.resume();
  return session;
}

function take(session: Session, bytes: Buffer) {
  session.received = Buffer.concat([session.received, bytes]);
  const { received } = session;
  let last = '';
  while (session.at + 5 <= received.length) {
    const end = session.at + 1 + received.readInt32BE(session.at + 1);
    if (end > received.length) break;
    last = String.fromCharCode(received[session.at] ?? 0);
    session.at = end;
  }
  // Ready for the next statement, or for the rows of a COPY.
  if (last !== 'Z' && last !== 'G') return;
  session.isAnswered = true;
  wake();
}

function send(session: Session, bytes: Uint8Array) {
  Object.assign(session, { received: Buffer.alloc(0), at: 0, isBusy: true, isAnswered: false, waitsFor: '' });
  session.socket.write(bytes);
}

const answered = (ms?: number) =>
  new Promise<void>((resolve) => {
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });

/** Asks the server in a session that nobody else uses. */
async function ask(sql: string, session = watcher): Promise<Buffer> {
  if (session === undefined) throw new Error('there is no database yet');
  send(session, message('Q', sql));
  while (!session.isAnswered) await answered();
  return session.received;
}

/** Which of these wait, and for which sessions. */
async function waitsOf(busy: readonly Session[]): Promise<ReadonlyMap<Session, readonly Session[]>> {
  const pids = busy.map(({ pid }) => pid).join();
  const sql = `select p, array_to_string(pg_blocking_pids(p), ',') from unnest('{${pids}}'::int[]) p`;
  const rows = rowsIn(messagesIn(await ask(sql)));
  const byPid = new Map([...sessions.values()].map((session) => [String(session.pid), session]));
  return new Map(
    rows.flatMap(([pid, others]) => {
      const session = byPid.get(pid ?? '');
      const found = (others ?? '').split(',').flatMap((other) => byPid.get(other) ?? []);
      return session === undefined || found.length === 0 ? [] : [[session, found] as const];
    }),
  );
}

/** Whether these wait for each other: the server will end one of them. */
function isCircle(waits: ReadonlyMap<Session, readonly Session[]>): boolean {
  const reaches = (from: Session, to: Session, seen: Set<Session>): boolean =>
    (waits.get(from) ?? []).some((next) => {
      if (next === to) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return reaches(next, to, seen);
    });
  return [...waits.keys()].some((session) => reaches(session, session, new Set()));
}

/**
 * Until each statement under way has been answered, or waits and will go on waiting.
 * @param asked its answer comes first
 */
async function settle(asked?: Session): Promise<Stepped> {
  const answers = new Map<Session, Buffer>();
  for (let isFirst = true; ; isFirst = false) {
    const busy = [...sessions.values()].filter(({ isBusy }) => isBusy);
    for (const session of busy.filter(({ isAnswered }) => isAnswered)) {
      session.isBusy = false;
      answers.set(session, session.received);
    }
    const left = busy.filter(({ isBusy }) => isBusy);
    const waits = left.length === 0 || isFirst ? undefined : await waitsOf(left);
    // Whoever has just begun to wait looks for a deadlock after a moment: the last one to wait is the one that is ended.
    const isOver = (session: Session) => {
      const before = session.waitsFor;
      session.waitsFor = (waits?.get(session) ?? []).map(({ id }) => id).join();
      return session.waitsFor !== '' && session.waitsFor === before && !session.endsWait;
    };
    const areOver = left.map(isOver).every(Boolean);
    if (left.some(({ isAnswered }) => isAnswered)) continue;
    if (left.length === 0 || (waits !== undefined && areOver && !isCircle(waits)))
      return {
        answers: [...answers]
          .toSorted(([a], [b]) => Number(b === asked) - Number(a === asked) || a.id - b.id)
          .map(([{ id }, bytes]) => ({ id, bytes })),
        waits: [...(waits ?? [])].map(([{ id }, others]) => [id, others.map((other) => other.id)] as const),
      };
    await answered(isFirst ? 15 : 3);
  }
}

async function begin(server: string, template: string) {
  for (const { socket } of [...sessions.values(), ...(watcher === undefined ? [] : [watcher])])
    socket.destroy();
  sessions.clear();
  const admin = await open(server);
  await ask(`drop database if exists ${own} with (force)`, admin);
  rowsIn(messagesIn(await ask(`create database ${own} template ${template}`, admin)));
  admin.socket.destroy();
  url = Object.assign(new URL(server), { pathname: `/${own}` }).href;
  watcher = await open(url);
}

async function serve(asked: Asked): Promise<Stepped> {
  const nothing = { answers: [], waits: [] };
  if (asked.what === 'ask') return { ...nothing, bytes: await ask(asked.sql) };
  if (asked.what === 'begin') {
    await begin(asked.url, asked.template);
    return nothing;
  }
  if (asked.what === 'open') {
    const session = await open(url);
    sessions.set(session.id, session);
    return { ...nothing, id: session.id };
  }
  const session = sessions.get(asked.id);
  if (session === undefined) throw new Error(`there is no session ${asked.id}`);
  if (asked.what === 'step') {
    session.endsWait = asked.endsWait;
    send(session, asked.bytes);
    return await settle(session);
  }
  sessions.delete(asked.id);
  // It waits until the server has undone what the session did.
  await ask(`select pg_terminate_backend(${session.pid}, 60000)`);
  session.socket.destroy();
  return await settle();
}

port.on('message', (asked: Asked) => {
  serve(asked)
    .catch((error: unknown): Stepped => ({ error: String((error as Error).stack), answers: [], waits: [] }))
    .then((stepped) => {
      port.postMessage(stepped);
      Atomics.store(signal, 0, 1);
      Atomics.notify(signal, 0);
    })
    .catch(() => {});
});
