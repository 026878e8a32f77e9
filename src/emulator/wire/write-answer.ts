import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { faultOf } from '../faults/fault-box.ts';
import { type Fault, parameter } from '../faults/faults.ts';

/** The answer before faults change its bytes. */
export interface Outgoing {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** How the bytes of an answer are sent. `share` is the part of the body that is sent, from 0 to 1. */
export type Wire =
  | { readonly kind: 'whole' }
  | { readonly kind: 'reset'; readonly share: number; readonly silent: boolean }
  | { readonly kind: 'ended'; readonly share: number }
  | { readonly kind: 'drip'; readonly bytes: number; readonly everyMs: number }
  | { readonly kind: 'padded'; readonly bytes: number }
  | { readonly kind: 'silence' };

/** The way to send the bytes, by the first fault that affects them. */
export function wireOf(faults: readonly Fault[]): Wire {
  const late = faultOf(faults, 'late');
  const resetIn = faultOf(faults, 'reset-in');
  const truncate = faultOf(faults, 'truncate');
  const drip = faultOf(faults, 'drip');
  const oversize = faultOf(faults, 'oversize');
  const silent = faultOf(faults, 'reset-before') ?? faultOf(faults, 'reset-after');
  const lateAnswer = late === undefined ? undefined : parameter(late, 'answer');
  if (silent !== undefined || lateAnswer === 'reset') return { kind: 'reset', share: 0, silent: true };
  if (lateAnswer === 'stall' || faultOf(faults, 'stall') !== undefined) return { kind: 'silence' };
  if (resetIn !== undefined)
    return { kind: 'reset', share: shareOf(parameter(resetIn, 'percent-sent')), silent: false };
  if (truncate !== undefined) return { kind: 'ended', share: shareOf(parameter(truncate, 'percent-sent')) };
  if (drip !== undefined) {
    return {
      kind: 'drip',
      bytes: Math.max(1, parameter(drip, 'bytes')),
      everyMs: parameter(drip, 'every-ms'),
    };
  }
  if (oversize !== undefined) return { kind: 'padded', bytes: parameter(oversize, 'bytes') };
  return { kind: 'whole' };
}

function shareOf(percent: number): number {
  return Math.min(100, Math.max(0, percent)) / 100;
}

/** Resets the connection of a request, which TLS sockets cannot do by themselves. */
type Reset = () => void;

/** Sends the answer as `wire` demands; resolves when nothing more will be written. */
export async function send(
  reply: FastifyReply,
  outgoing: Outgoing,
  wire: Wire,
  reset: Reset,
): Promise<unknown> {
  if (wire.kind === 'whole') {
    return reply.code(outgoing.status).headers(outgoing.headers).send(outgoing.text);
  }
  reply.code(outgoing.status).headers(outgoing.headers).hijack();
  if (wire.kind === 'silence') return undefined;
  if (wire.kind === 'reset' && wire.silent) {
    reset();
    return undefined;
  }
  const body = Buffer.from(outgoing.text);
  const length = wire.kind === 'padded' ? Math.max(wire.bytes, body.length) : body.length;
  reply.raw.writeHead(outgoing.status, { ...headersOf(reply), 'content-length': length });
  if (wire.kind === 'drip') return drip(reply, body, wire.bytes, wire.everyMs);
  if (wire.kind === 'padded') return pad(reply, body, length);
  await written(reply, body.subarray(0, Math.floor(body.length * wire.share)));
  if (wire.kind === 'reset') reset();
  else reply.raw.socket?.end();
  return undefined;
}

function headersOf(reply: FastifyReply): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).map(([name, value]) => [
      name,
      Array.isArray(value) ? value : String(value),
    ]),
  );
}

async function drip(reply: FastifyReply, body: Buffer, bytes: number, everyMs: number): Promise<void> {
  for (let at = 0; at < body.length && !reply.raw.destroyed; at += bytes) {
    reply.raw.write(body.subarray(at, at + bytes));
    await delay(everyMs);
  }
  reply.raw.end();
}

async function pad(reply: FastifyReply, body: Buffer, length: number): Promise<void> {
  const spaces = Buffer.alloc(2 ** 16, ' ');
  await written(reply, body);
  for (let left = length - body.length; left > 0 && !reply.raw.destroyed; left -= spaces.length) {
    await written(reply, left < spaces.length ? spaces.subarray(0, left) : spaces);
  }
  reply.raw.end();
}

/** Resolves when the operating system has the bytes, or when the connection is closed. */
function written(reply: FastifyReply, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => {
    if (bytes.length === 0) reply.raw.flushHeaders();
    if (bytes.length === 0 || reply.raw.destroyed) {
      setImmediate(resolve);
      return;
    }
    const done = (): void => {
      reply.raw.off('close', done);
      resolve();
    };
    reply.raw.once('close', done);
    reply.raw.write(bytes, done);
  });
}
