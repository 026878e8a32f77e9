/**
 * Postgres for a world: PGlite behind sockets. Many connections share its one session: whoever is in a transaction has it,
 * the others wait, in virtual time. A statement is done in one instant; what takes time is the way there and back.
 */
import { EventEmitter } from 'node:events';
import type { PGlite } from '@electric-sql/pglite';
import type { Random } from '../../src/emulator/random.ts';
import { type Names, nameStatement } from './prepared.ts';
import { errorIn, greeting, message, messagesIn, rowsIn } from './wire.ts';
import { asDatabase, type Process, type World } from './world.ts';

interface Connection {
  readonly socket: VirtualSocket;
  readonly process: Process | undefined;
  readonly units: Buffer[];
  readonly channels: Set<string>;
  isOver: boolean;
  /** Whether its transaction may have written to the ledger. */
  isTelling: boolean;
}

export interface Postgres {
  /** Asks at once, if nobody is in a transaction, and otherwise as a part of it. */
  ask(sql: string): readonly (readonly (string | null)[])[];
  /** Runs the statements as soon as nobody is in a transaction, at one instant. */
  atRest(work: () => void): void;
  /** Each is called when a transaction has begun, as a part of it. */
  readonly onBegin: ((by: Process | undefined) => void)[];
  /** Each is called after a transaction, with nobody in another: whether it may have written to the ledger. */
  readonly onEnd: ((by: Process | undefined, isTelling: boolean) => void)[];
  /** Called before a unit is sent; what it returns is done instead of sending it at once. */
  onSend: ((by: Process, text: string) => 'send' | 'drop' | 'send and die') | undefined;
}

/** Postgres for one world, which keeps the plans of statements. */
export interface PlanningPostgres extends Postgres {
  /** The statements that the server was sent so far, with their parameters. */
  readonly sent: readonly Buffer[];
  /** Plays these statements, each rolled back, so that the server has their plans. @returns those that it knows by then */
  rehearse(units: readonly Buffer[]): Names;
}

let server: { connect(socket: VirtualSocket): void } | undefined;

/** From now on this is where sockets connect to. */
export function listen(connect: (socket: VirtualSocket) => void): void {
  server = { connect };
}

/** Postgres's timers are JavaScript's here: a limit in virtual time would end it. */
const withoutLimits = (text: string) =>
  text.replace(/((?:statement|lock|transaction|idle_in_transaction_session)_timeout = )\d+/g, '$10');

const isEnd = (type: string) => type === 'Q' || type === 'S' || type === 'H' || type === 'c' || type === 'f';

/** What `node:net` gives, for Postgres alone. */
export class VirtualSocket extends EventEmitter {
  writable = true;
  readable = true;
  destroyed = false;
  /** What was written and is no whole message yet. */
  private rest = Buffer.alloc(0);
  private isGreeted = false;
  private unit: Buffer[] = [];
  onUnit: (unit: Buffer) => void = () => {};
  onClose: () => void = () => {};
  onHello: () => void = () => {};

  connect() {
    if (server === undefined) throw new Error('there is no Postgres');
    server.connect(this);
    return this;
  }
  write(data: Uint8Array | string, encoding?: unknown, done?: unknown): boolean {
    this.rest = Buffer.concat([this.rest, typeof data === 'string' ? Buffer.from(data) : data]);
    this.cut();
    const then = typeof encoding === 'function' ? encoding : done;
    if (typeof then === 'function') then();
    return true;
  }
  private cut() {
    if (!this.isGreeted) {
      if (this.rest.length < 4 || this.rest.length < this.rest.readInt32BE(0)) return;
      this.rest = this.rest.subarray(this.rest.readInt32BE(0));
      this.isGreeted = true;
      this.onHello();
    }
    while (this.rest.length >= 5 && this.rest.length > this.rest.readInt32BE(1)) {
      const end = 1 + this.rest.readInt32BE(1);
      const one = this.rest.subarray(0, end);
      this.rest = this.rest.subarray(end);
      const type = String.fromCharCode(one[0] ?? 0);
      if (type === 'X') {
        this.destroy();
        return;
      }
      this.unit.push(one);
      if (!isEnd(type)) continue;
      const unit = Buffer.concat(this.unit);
      this.unit = [];
      this.onUnit(unit);
    }
  }
  end() {
    this.destroy();
    return this;
  }
  destroy(error?: Error) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.writable = false;
    this.onClose();
    process.nextTick(() => {
      if (error !== undefined) this.emit('error', error);
      this.emit('end');
      this.emit('close', error !== undefined);
    });
    return this;
  }
}
/** What it is told besides has no meaning here. */
for (const name of [
  'setNoDelay',
  'setKeepAlive',
  'setTimeout',
  'ref',
  'unref',
  'cork',
  'uncork',
  'pause',
  'resume',
])
  Object.defineProperty(VirtualSocket.prototype, name, {
    value(this: VirtualSocket) {
      return this;
    },
  });

/** What a unit says, for traces and for what is asked of it. */
export function textOf(unit: Buffer): string {
  const parts = messagesIn(unit).flatMap(({ type, body }) => {
    if (type === 'Q') return [body.toString('utf8', 0, body.length - 1)];
    if (type === 'P')
      return [body.toString('utf8', body.indexOf(0) + 1, body.indexOf(0, body.indexOf(0) + 1))];
    return [];
  });
  return parts.join('; ').replace(/\s+/g, ' ').trim();
}

/** The unit without time limits. */
function tame(unit: Buffer): Buffer {
  const [first] = messagesIn(unit);
  if (first?.type !== 'Q') return unit;
  const text = first.body.toString('utf8', 0, first.body.length - 1);
  const tamed = withoutLimits(text);
  return tamed === text ? unit : Buffer.concat([message('Q', tamed), unit.subarray(first.whole.length)]);
}

const isCopy = (unit: Buffer) => /^\s*copy\s.*\sfrom\s+stdin/is.test(textOf(unit)) && unit[0] === 0x51;

export function createPostgres(world: World, pglite: PGlite, names: Names): PlanningPostgres {
  const random: Random = world.random('database');
  const connections = new Set<Connection>();
  const resting: (() => void)[] = [];
  const sent: Buffer[] = [];
  let owner: Connection | undefined;
  /** A COPY is given to the server with its data, in one piece. */
  let copying: { readonly of: Connection; readonly head: Buffer } | undefined;
  let isPumping = false;

  const exec = (bytes: Uint8Array) => asDatabase(() => pglite.execProtocolRawSync(bytes));
  /** The messages of an answer but those for listeners, who get them. */
  const execFor = (bytes: Buffer) => {
    const named = nameStatement(bytes, names);
    const messages = named.answer(messagesIn(exec(named.unit)));
    if (named.unit !== bytes) sent.push(bytes);
    for (const { type, body, whole } of messages) {
      if (type !== 'A') continue;
      const channel = body.toString('utf8', 4, body.indexOf(0, 4));
      for (const other of connections) if (other.channels.has(channel)) answer(other, Buffer.from(whole));
    }
    return messages.filter(({ type }) => type !== 'A');
  };
  const ask: Postgres['ask'] = (sql) => rowsIn(execFor(message('Q', sql)));

  function rehearse(units: readonly Buffer[]) {
    const sequences = ask(
      `select format('setval(%L, %s, %L)', schemaname || '.' || sequencename, coalesce(last_value, start_value), last_value is not null) from pg_sequences`,
    );
    ask('begin; set local search_path = pg_catalog, pg_temp');
    for (const unit of units) {
      ask('savepoint before');
      execFor(unit);
      ask('rollback to before');
    }
    ask(`rollback; select ${sequences.join(', ')}`);
    return names;
  }

  function pump() {
    if (isPumping) return;
    isPumping = true;
    try {
      for (;;) {
        if (owner === undefined) for (const work of resting.splice(0)) work();
        const next = owner ?? [...connections].find(({ units }) => units.length > 0);
        const unit = next?.units.shift();
        if (next === undefined || unit === undefined) return;
        serve(next, unit);
      }
    } finally {
      isPumping = false;
    }
  }

  function answer(connection: Connection, bytes: Buffer) {
    if (bytes.length === 0 || connection.isOver) return;
    const ms = 0.2 + random.fraction() * 1.2;
    world.after(
      ms,
      () => {
        if (connection.isOver) return;
        const tell = () => connection.socket.emit('data', bytes);
        // Whoever's statement it was that led to this, what follows belongs to the process of the connection.
        if (connection.process === undefined) tell();
        else world.as(connection.process, tell);
      },
      connection.process,
    );
  }

  function serve(connection: Connection, unit: Buffer) {
    if (copying === undefined && isCopy(unit)) {
      owner = connection;
      copying = { of: connection, head: unit };
      answer(connection, message('G', Buffer.from([0, 0, 0])));
      return;
    }
    const whole = copying === undefined ? tame(unit) : Buffer.concat([copying.head, unit]);
    const text = textOf(whole);
    const isOfCopy = copying !== undefined;
    copying = undefined;
    const own: Buffer[] = [];
    let status = owner === undefined ? 'I' : 'T';
    let isDone = false;
    const before = owner;
    for (const { type, body, whole: bytes } of execFor(whole)) {
      if (type === 'G' && isOfCopy) continue;
      if (type === 'E' && !/^(?:40|55|23)/.test(errorIn(body)))
        world.trace(`  postgres: ${errorIn(body)} in ${text.slice(0, 200)}`);
      if (type === 'Z') {
        status = String.fromCharCode(body[0] ?? 0);
        isDone = true;
      }
      own.push(Buffer.from(bytes));
    }
    const listens = /^listen "?([\w-]+)"?/i.exec(text);
    if (listens?.[1] !== undefined) connection.channels.add(listens[1]);
    // The function sets a limit in real time. If the virtual clock passes it, PGlite hangs.
    if (status === 'T' && text.includes('sync.hold('))
      ask('set local idle_in_transaction_session_timeout = 0');
    owner = status === 'I' && isDone ? undefined : connection;
    answer(connection, Buffer.concat(own));
    connection.isTelling ||= /sync\.(?:changes|keep_place)/.test(text);
    if (before === undefined && owner !== undefined)
      for (const tell of made.onBegin) tell(connection.process);
    if (owner !== undefined) return;
    const { isTelling } = connection;
    connection.isTelling = false;
    for (const tell of made.onEnd) tell(connection.process, isTelling);
  }

  function close(connection: Connection, runsOn: boolean) {
    if (connection.isOver) return;
    const unit = connection.units.shift();
    connection.isOver = true;
    if (runsOn && unit !== undefined && (owner === undefined || owner === connection))
      serve(connection, unit);
    connections.delete(connection);
    if (owner === connection) {
      owner = undefined;
      copying = undefined;
      exec(message('Q', 'rollback'));
    }
    world.after(0, pump, null);
  }

  server = {
    connect: (socket) => {
      const process = world.current();
      const connection: Connection = {
        socket,
        process,
        units: [],
        channels: new Set(),
        isOver: false,
        isTelling: false,
      };
      socket.onHello = () => answer(connection, greeting(connections.size + 1));
      socket.onUnit = (unit) => {
        if (connection.isOver) return;
        const ms = 0.2 + random.fraction() * 1.2;
        const how = process === undefined ? 'send' : (made.onSend?.(process, textOf(unit)) ?? 'send');
        if (how !== 'drop')
          world.after(
            ms,
            () => {
              if (connection.isOver && how === 'send') return;
              connection.units.push(unit);
              pump();
            },
            null,
          );
        if (how !== 'send' && process !== undefined) world.kill(process);
      };
      socket.onClose = () => close(connection, false);
      process?.onDeath.push(() => {
        socket.removeAllListeners();
        // What was on its way arrives, or the connection was gone before.
        world.after(3, () => close(connection, random.fraction() < 0.5), null);
      });
      connections.add(connection);
      world.after(0.3 + random.fraction(), () => socket.emit('connect'), process);
    },
  };
  const made: PlanningPostgres = {
    ask,
    sent,
    rehearse,
    atRest: (work) => {
      resting.push(work);
      pump();
    },
    onBegin: [],
    onEnd: [],
    onSend: undefined,
  };
  return made;
}
