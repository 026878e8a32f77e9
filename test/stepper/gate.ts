/**
 * The gate between the sessions of a world and a real Postgres: each statement is held here until the seed lets it pass, one
 * at a time, and the next one passes when it has been answered or waits for another session. Whoever waits goes on by itself.
 */
import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Random } from '../../src/emulator/random.ts';
import { listen, type Postgres, textOf, type VirtualSocket } from '../simulation/postgres.ts';
import { errorIn, greeting, message, messagesIn, rowsIn } from '../simulation/wire.ts';
import type { Process, World } from '../simulation/world.ts';
import type { Asked, Stepped } from './sessions-thread.ts';

/** The real server, asked as if it were a function. */
export interface Server {
  call(asked: Asked): Stepped;
  close(): Promise<unknown>;
}

export function createServer(): Server {
  const { port1, port2 } = new MessageChannel();
  const signal = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./sessions-thread.ts', import.meta.url), {
    workerData: { port: port2, signal },
    transferList: [port2],
  });
  return {
    call: (asked) => {
      Atomics.store(signal, 0, 0);
      port1.postMessage(asked);
      // The wake-up for the answer before may come late.
      while (Atomics.load(signal, 0) === 0)
        if (Atomics.wait(signal, 0, 0, 120_000) === 'timed-out') throw new Error('Postgres does not answer');
      const { message: stepped } = receiveMessageOnPort(port1) as { message: Stepped };
      if (stepped.error !== undefined) throw new Error(stepped.error);
      return stepped;
    },
    close: async () => {
      port1.close();
      await worker.terminate();
    },
  };
}

/** What becomes of a statement, of its session and of the process that sent it. */
export type Fate = 'passes' | 'ends before' | 'ends in' | 'ends after' | 'dies before' | 'dies in';

export interface Session {
  readonly id: number;
  readonly by: Process;
  /** `I`: in no transaction; `T`: in one; `E`: in one that failed. */
  status: string;
  /** Of its transaction so far. */
  text: string;
  isOver: boolean;
  isWaiting: boolean;
  /** Its transaction has a short lock timeout. */
  isImpatient: boolean;
  onAnswer: (bytes: Buffer) => void;
  onEnd: () => void;
}

export interface Gate extends Postgres {
  open(by: Process): Session;
  send(session: Session, unit: Buffer): void;
  close(session: Session): void;
  /** Decides what becomes of a statement that is about to pass; with its values. */
  fateOf: (session: Session, text: string, unit: Buffer) => Fate;
  /** Each is called right before a COMMIT passes. */
  readonly beforeCommit: ((by: Process) => void)[];
  /** Each is called after it, with the text of the transaction. */
  readonly onCommit: ((by: Process, text: string) => void)[];
  readonly counts: { statements: number; waits: number; deadlocks: number; timeouts: number; ends: number };
}

/** Limits count real time, which does not pass here; a lock timeout is either none or so short that any wait is too long. */
function tame(unit: Buffer, isImpatient: boolean): Buffer {
  const [first] = messagesIn(unit);
  if (first?.type !== 'Q') return unit;
  const text = first.body.toString('utf8', 0, first.body.length - 1);
  const tamed = text
    .replace(/((?:statement|idle_in_transaction_session)_timeout = )\d+/g, '$10')
    .replace(/(lock_timeout = )\d+/g, isImpatient ? '$13' : '$10');
  return tamed === text ? unit : message('Q', tamed);
}

export function createGate(world: World, server: Server): Gate {
  const random: Random = world.random('gate');
  const sessions = new Map<number, Session>();
  /** Of sessions that were closed: they are taken again, which is quicker than to log in. */
  const free: number[] = [];
  /** The statement that has just passed, in words. */
  let passing = '';
  const names = (ids: readonly number[]) => ids.map((id) => sessions.get(id)?.by.name ?? '?').join(', ');

  function open(by: Process): Session {
    const known = free.shift();
    const id = known ?? server.call({ what: 'open' }).id ?? 0;
    const bytes = message('Q', 'discard all');
    if (known !== undefined) hear(server.call({ what: 'step', id, bytes, endsWait: false }));
    const session: Session = {
      id,
      by,
      status: 'I',
      text: '',
      isOver: false,
      isWaiting: false,
      isImpatient: false,
      onAnswer: () => {},
      onEnd: () => {},
    };
    sessions.set(id, session);
    by.onDeath.push(() => close(session));
    return session;
  }

  /** The server undoes what is not committed. */
  function close(session: Session) {
    if (session.isOver) return;
    session.isOver = true;
    sessions.delete(session.id);
    if (session.status === 'I' && !session.isWaiting) free.push(session.id);
    else hear(server.call({ what: 'end', id: session.id }));
  }

  function end(session: Session, how: string) {
    if (session.isOver) return;
    made.counts.ends += 1;
    world.trace(`${session.by.name}'s connection ends ${how}`);
    session.isOver = true;
    sessions.delete(session.id);
    const stepped = server.call({ what: 'end', id: session.id });
    world.after(0.1, () => session.onEnd(), session.by);
    hear(stepped);
  }

  function send(session: Session, unit: Buffer) {
    // Most come one after the other; some take long, so that others get between them.
    const isLong =
      random.between(0, 3) === 0 && (session.text.includes('update') || random.between(0, 3) === 0);
    const ms = isLong ? random.fraction() * 40 : 0.2 + random.fraction();
    world.after(ms, () => release(session, unit), null);
  }

  function release(session: Session, unit: Buffer) {
    if (session.isOver) return;
    const text = textOf(unit);
    const fate = made.fateOf(session, text, unit);
    if (fate === 'dies before') world.kill(session.by);
    if (fate === 'ends before') end(session, `before ${shortOf(text)}`);
    if (session.isOver) return;
    if (text.includes('lock_timeout')) session.isImpatient = random.between(0, 3) === 0;
    session.text += `${text};`;
    made.counts.statements += 1;
    if (/^commit/i.test(text)) for (const tell of made.beforeCommit) tell(session.by);
    const deliver = session.onAnswer;
    if (fate === 'ends in' || fate === 'dies in') session.onAnswer = () => {};
    const bytes = tame(unit, session.isImpatient);
    passing = `${session.by.name}: ${shortOf(text)} →`;
    hear(server.call({ what: 'step', id: session.id, bytes, endsWait: session.isImpatient }));
    if (fate === 'dies in') world.kill(session.by);
    if (fate === 'ends in') end(session, `in ${shortOf(text)}`);
    if (fate === 'ends after') {
      session.onAnswer = deliver;
      world.after(2, () => end(session, `after ${shortOf(text)}`), null);
    }
  }

  function hear({ answers, waits }: Stepped) {
    for (const [id, others] of waits) {
      const session = sessions.get(id);
      if (session === undefined || session.isWaiting) continue;
      session.isWaiting = true;
      made.counts.waits += 1;
      world.trace(`${passing} waits for ${names(others)}`);
    }
    for (const { id, bytes } of answers) {
      const session = sessions.get(id);
      if (session !== undefined) answer(session, Buffer.from(bytes));
    }
  }

  function answer(session: Session, bytes: Buffer) {
    const head = session.isWaiting ? `    ${session.by.name} goes on →` : passing;
    session.isWaiting = false;
    const words: string[] = [];
    for (const { type, body } of messagesIn(bytes)) {
      if (type === 'Z') session.status = String.fromCharCode(body[0] ?? 0);
      if (type === 'C') words.push(body.toString('utf8', 0, body.length - 1));
      if (type !== 'E') continue;
      const error = errorIn(body);
      words.push(error.replace(/ while .*/s, '').slice(0, 80));
      if (error.startsWith('40P01')) made.counts.deadlocks += 1;
      if (error.startsWith('55P03')) made.counts.timeouts += 1;
    }
    world.trace(`${head} ${words.join(', ')}`);
    const { onAnswer } = session;
    world.after(0.1 + random.fraction() * 0.3, () => session.isOver || onAnswer(bytes), session.by);
    const [last] = words;
    const { text } = session;
    if (session.status !== 'I') return;
    session.text = '';
    if (last !== 'COMMIT') return;
    for (const tell of made.onEnd) tell(session.by, text.includes('sync.changes'));
    for (const tell of made.onCommit) tell(session.by, text);
  }

  listen((socket) => {
    const by = world.current();
    if (by === undefined) throw new Error('nobody connects');
    connect(socket, by);
  });

  function connect(socket: VirtualSocket, by: Process) {
    const session = open(by);
    session.onAnswer = (bytes) => socket.emit('data', bytes);
    session.onEnd = () => socket.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    socket.onHello = () => world.after(0.1, () => socket.emit('data', greeting(session.id)), by);
    socket.onUnit = (unit) => send(session, unit);
    socket.onClose = () => close(session);
    by.onDeath.push(() => socket.removeAllListeners());
    world.after(0.1, () => socket.emit('connect'), by);
  }

  const made: Gate = {
    ask: (sql) => rowsIn(messagesIn(server.call({ what: 'ask', sql }).bytes ?? Buffer.alloc(0))),
    atRest: (work) => work(),
    open,
    send,
    close,
    onBegin: [],
    onEnd: [],
    onSend: undefined,
    fateOf: () => 'passes',
    beforeCommit: [],
    onCommit: [],
    counts: { statements: 0, waits: 0, deadlocks: 0, timeouts: 0, ends: 0 },
  };
  return made;
}

/** Without the limits that each transaction sets, the name of a batch, which rests on the time, and the middle of what is long. */
function shortOf(text: string): string {
  const own = text.replace(/; set local .*/, '').replace(/'[0-9a-f]{12}'/, 'batch');
  return own.length > 150 ? `${own.slice(0, 100)} … ${own.slice(-40)}` : own;
}
