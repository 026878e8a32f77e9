/**
 * Ends this process, or one of its connections to Postgres, at a point that has a number: for `node --import`, before a
 * program that knows nothing of it. `CRASH_AT=kill:17` kills the process at point 17, `CRASH_AT=cut:17` cuts that
 * connection, and neither has a point 0. What each point is goes to the file `CRASH_LOG`, a line each.
 *
 * What a process has done is what it has written to its sockets. So it is killed right after each write, be it a statement or
 * a request, before there is an answer; there is nothing in between. A connection is cut behind each message of the protocol, in both
 * directions, also where one write has several: once for each statement and each kind of message that goes with it.
 */
import { appendFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { createSplitter } from '../support/postgres-proxy.ts';

type Chunk = Uint8Array | string;
interface Many {
  readonly chunk: Chunk;
  readonly encoding: BufferEncoding;
}
type Done = (error?: Error | null) => void;
/** Where all that a socket writes and reads comes by. */
interface Passages {
  _writeGeneric: (
    this: Socket & Passages,
    isMany: boolean,
    data: Chunk | readonly Many[],
    encoding: string,
    done: Done,
  ) => unknown;
  push: (this: Socket & Passages, chunk: unknown, encoding?: string) => boolean;
}

const [how = '', number = '0'] = (process.env['CRASH_AT'] ?? '').split(':');
const log = process.env['CRASH_LOG'] ?? '/dev/null';
let points = 0;

function isPoint(name: string): boolean {
  points += 1;
  appendFileSync(log, `${name.replaceAll(/\s+/g, ' ').slice(0, 160)}\n`);
  return points === Number(number);
}

type Split = (bytes: Buffer) => readonly Buffer[];
/** A connection to Postgres, message by message; `null`: it is another one. */
type Talk = { readonly asked: Split; readonly answered: Split; statement: string } | null;
const talks = new WeakMap<Socket, Talk>();

/** Protocol 3.0, and the question whether it speaks TLS: the first of a client has no type. */
const openings = new Set([0x0003_0000, 80_877_103]);

function talkOf(socket: Socket, first: Buffer): Talk {
  let talk = talks.get(socket);
  if (talk === undefined) {
    const isPostgres = first.length >= 8 && openings.has(first.readUInt32BE(4));
    talk = isPostgres
      ? { asked: createSplitter(true), answered: createSplitter(false), statement: '' }
      : null;
    talks.set(socket, talk);
  }
  return talk;
}

const bytesOf = (chunk: Chunk, encoding: BufferEncoding) =>
  typeof chunk === 'string' ? Buffer.from(chunk, encoding) : Buffer.from(chunk);

/** The text of a statement, or the letter of another message. */
function nameOf(message: Buffer): string {
  const type = String.fromCodePoint(message[0] ?? 0);
  if (type === 'Q') return message.toString('utf8', 5, message.length - 1);
  if (type !== 'P') return type === '\0' ? 'start' : type;
  const query = message.indexOf(0, 5) + 1;
  return message.toString('utf8', query, message.indexOf(0, query));
}

const said = (talk: Talk, bytes: Buffer) =>
  talk === null ? (bytes.toString('latin1').split('\r\n', 1)[0] ?? '') : nameOf(bytes);

const passages = Socket.prototype as unknown as Passages;
const { _writeGeneric: write, push } = passages;

const kinds = new Set<string>();

/** The end of a transaction is of a kind with what was done in it last. */
function isCutAt(talk: NonNullable<Talk>, side: 'asked' | 'answered', message: Buffer): boolean {
  const name = nameOf(message);
  if (name.length > 1) talk.statement = /^(commit|rollback)/.test(name) ? `${talk.statement}; ${name}` : name;
  const kind = `${side} ${name}: ${talk.statement}`;
  if (kinds.has(kind)) return false;
  kinds.add(kind);
  return isPoint(kind);
}

/** As far as these bytes are to come; the connection is over after that. */
function upTo(talk: NonNullable<Talk>, side: 'asked' | 'answered', bytes: Buffer) {
  const messages = talk[side](bytes);
  const at = messages.findIndex((message) => isCutAt(talk, side, message));
  return { passed: Buffer.concat(at < 0 ? messages : messages.slice(0, at + 1)), isCut: at >= 0 };
}

passages._writeGeneric = function (this: Socket & Passages, isMany, data, encoding, done) {
  const pass = () => write.call(this, isMany, data, encoding, done);
  // It comes again once it is connected; what has no port is no connection to anybody.
  if (this.connecting || this.remotePort === undefined) return pass();
  const bytes = isMany
    ? Buffer.concat((data as readonly Many[]).map((one) => bytesOf(one.chunk, one.encoding)))
    : bytesOf(data as Chunk, encoding as BufferEncoding);
  const talk = talkOf(this, bytes);
  if (how !== 'cut') {
    pass();
    if (isPoint(said(talk, bytes))) process.kill(process.pid, 'SIGKILL');
    return undefined;
  }
  if (talk === null) return pass();
  const { passed, isCut } = upTo(talk, 'asked', bytes);
  if (passed.length === 0) return done();
  write.call(this, false, passed, 'buffer', done);
  if (isCut) this.destroy();
  return undefined;
};

passages.push = function (this: Socket & Passages, chunk, encoding) {
  const talk = talks.get(this) ?? null;
  if (how !== 'cut' || talk === null || !Buffer.isBuffer(chunk)) return push.call(this, chunk, encoding);
  const { passed, isCut } = upTo(talk, 'answered', chunk);
  const goesOn = passed.length === 0 || push.call(this, passed);
  if (isCut) this.destroy();
  return goesOn;
};
