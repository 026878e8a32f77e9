import { connect } from 'node:net';
import type { Emulator } from '../../src/emulator/create-emulator.ts';
import { secretOf, token } from './call.ts';

/** One call of an endpoint; the body is JSON text. */
export interface Calling {
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
}

export interface Received {
  readonly status: number;
  readonly requestId: string | undefined;
  readonly text: string;
}

/** A way in which clients that nobody here wrote call the service. */
export type Manner = (emulator: Emulator, calling: Calling) => Promise<Received>;

function bearerOf(emulator: Emulator): string {
  const nowS = Math.floor(Date.now() / 1000);
  return `Bearer ${token(secretOf(emulator.environment), { exp: nowS + 300 })}`;
}

/** Writes the bytes, and reads until the service closes the connection or has sent the whole body. */
export function raw(emulator: Emulator, lines: readonly string[], body = ''): Promise<Received> {
  const { hostname, port } = new URL(emulator.url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let received = Buffer.alloc(0);
    socket.on('error', reject);
    socket.on('connect', () => socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`));
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const answer = parseAnswer(received);
      if (answer === undefined) return;
      socket.destroy();
      resolve(answer);
    });
  });
}

function parseAnswer(received: Buffer): Received | undefined {
  const text = received.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const head = text.slice(0, end);
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1]);
  if (received.length < end + 4 + length) return undefined;
  return {
    status: Number(head.split(' ')[1]),
    requestId: /\r\nx-request-id: *(\S+)/i.exec(head)?.[1],
    text: received.subarray(end + 4, end + 4 + length).toString(),
  };
}

/** `curl -X METHOD -d '…'`: its form content type stays, since people forget to say otherwise. */
export const curlBytes: Manner = (emulator, { method, path, body }) => {
  const form =
    body === undefined
      ? []
      : [`Content-Length: ${Buffer.byteLength(body)}`, 'Content-Type: application/x-www-form-urlencoded'];
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(emulator.url).host}`,
    'User-Agent: curl/8.5.0',
    'Accept: */*',
    `Authorization: ${bearerOf(emulator)}`,
    ...form,
  ];
  return raw(emulator, lines, body);
};

/** `urllib.request.urlopen(Request(url, data, headers, method=METHOD))`: one connection a call. */
export const urllibBytes: Manner = (emulator, { method, path, body }) => {
  const form =
    body === undefined
      ? []
      : ['Content-Type: application/x-www-form-urlencoded', `Content-Length: ${Buffer.byteLength(body)}`];
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Accept-Encoding: identity',
    ...form,
    `Host: ${new URL(emulator.url).host}`,
    'User-Agent: Python-urllib/3.12',
    `Authorization: ${bearerOf(emulator)}`,
    'Connection: close',
  ];
  return raw(emulator, lines, body);
};

/** A client that sends its body in chunks, with a JSON content type. */
export const chunkedBytes: Manner = (emulator, { method, path, body }) => {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${new URL(emulator.url).host}`,
    `authorization: ${bearerOf(emulator).replace('Bearer', 'bearer')}`,
    ...(body === undefined
      ? []
      : ['content-type: application/json; charset=utf-8', 'transfer-encoding: chunked']),
  ];
  const chunks = body === undefined ? '' : `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  return raw(emulator, lines, chunks);
};

/** Node's fetch, which cannot send a body with a GET (note 1: some clients cannot). */
export const nodeFetch: Manner = async (emulator, { method, path, body }) => {
  const answer = await fetch(emulator.url + path, {
    method,
    headers: { authorization: bearerOf(emulator), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: answer.status,
    requestId: answer.headers.get('x-request-id') ?? undefined,
    text: await answer.text(),
  };
};
