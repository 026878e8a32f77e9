/** Postgres's wire protocol, as far as a connection and a question about the state of the database need it. */

/** A message of the server: its type, its body, and the whole of it. */
export interface Message {
  readonly type: string;
  readonly body: Buffer;
  readonly whole: Buffer;
}

export function messagesIn(bytes: Uint8Array): readonly Message[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: Message[] = [];
  for (let at = 0; at + 5 <= buffer.length; ) {
    const end = at + 1 + buffer.readInt32BE(at + 1);
    const type = String.fromCharCode(buffer[at] ?? 0);
    messages.push({ type, body: buffer.subarray(at + 5, end), whole: buffer.subarray(at, end) });
    at = end;
  }
  return messages;
}

export function message(type: string, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)),
  );
  const head = Buffer.alloc(type === '' ? 4 : 5);
  if (type !== '') head.write(type, 0, 'latin1');
  head.writeInt32BE(body.length + 4, head.length - 4);
  return Buffer.concat([head, body]);
}

const int32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

/** What a server says to somebody who is let in without a password. */
export const greeting = (process: number): Buffer =>
  Buffer.concat([
    message('R', int32(0)),
    ...Object.entries({
      server_version: '18.0',
      server_encoding: 'UTF8',
      client_encoding: 'UTF8',
      DateStyle: 'ISO, MDY',
      TimeZone: 'UTC',
      integer_datetimes: 'on',
      standard_conforming_strings: 'on',
    }).map(([name, value]) => message('S', name, value)),
    message('K', int32(process), int32(process)),
    message('Z', Buffer.from('I')),
  ]);

/** Text rows of the answer to a simple query. @throws Error with what the server says */
export function rowsIn(answer: readonly Message[]): readonly (readonly (string | null)[])[] {
  const rows: (string | null)[][] = [];
  for (const { type, body } of answer) {
    if (type === 'E') throw new Error(errorIn(body));
    if (type !== 'D') continue;
    const row: (string | null)[] = [];
    for (let at = 2, left = body.readInt16BE(0); left > 0; left -= 1) {
      const length = body.readInt32BE(at);
      at += 4;
      row.push(length < 0 ? null : body.toString('utf8', at, at + length));
      at += Math.max(0, length);
    }
    rows.push(row);
  }
  return rows;
}

/** The parts of an error: `M` is the message, `C` the code. */
export function errorIn(body: Buffer): string {
  const parts = body.toString('utf8').split('\0').filter(Boolean);
  const said = (key: string) => parts.find((part) => part.startsWith(key))?.slice(1) ?? '';
  return `${said('C')} ${said('M')} ${said('W').slice(0, 300)}`;
}
