import { connect, createServer, type Socket } from 'node:net';

/** A loopback stand-in for a Postgres, that cuts a connection behind a message of its protocol. */
export interface PostgresProxy {
  readonly port: number;
  /** How many messages went through so far, in both directions. */
  readonly messages: () => number;
  /** Whether the cut has happened. */
  readonly cut: () => boolean;
  close(): Promise<void>;
}

/** Cuts what has arrived into whole messages: a type (but for a client's first one), a length, a body. */
export function createSplitter(startsUntyped: boolean): (bytes: Buffer) => readonly Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  let untyped = startsUntyped;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    const whole: Buffer[] = [];
    for (;;) {
      const head = untyped ? 0 : 1;
      if (rest.length < head + 4) return whole;
      const length = head + rest.readUInt32BE(head);
      if (rest.length < length) return whole;
      whole.push(rest.subarray(0, length));
      rest = rest.subarray(length);
      untyped = false;
    }
  };
}

/**
 * @param cutAfter the connection that carries the so-manieth message ends right behind it, both ways; later
 *   connections stand
 * @param onAnswer told of each message of the server
 * @param onQuestion told of each message of the client
 */
export async function createPostgresProxy(
  target: { readonly host: string; readonly port: number },
  cutAfter = Number.POSITIVE_INFINITY,
  onCut: () => void = () => undefined,
  onAnswer: (message: Buffer) => void = () => undefined,
  onQuestion: (message: Buffer) => void = () => undefined,
): Promise<PostgresProxy> {
  const sockets = new Set<Socket>();
  let messages = 0;
  const join = (from: Socket, to: Socket, split: (bytes: Buffer) => readonly Buffer[]) => {
    sockets.add(from.setNoDelay(true));
    from.on('error', () => undefined).on('close', () => sockets.delete(from));
    from.on('data', (bytes: Buffer) => {
      for (const message of split(bytes)) {
        if (to.destroyed || to.writableEnded) return;
        messages += 1;
        to.write(message);
        if (messages !== cutAfter) continue;
        onCut();
        to.destroySoon();
        from.destroy();
        return;
      }
    });
    from.on('end', () => to.end());
  };
  const server = createServer((client) => {
    const upstream = connect(target);
    const telling = (split: (bytes: Buffer) => readonly Buffer[], tell: (message: Buffer) => void) => {
      return (bytes: Buffer) => {
        const whole = split(bytes);
        for (const message of whole) tell(message);
        return whole;
      };
    };
    join(client, upstream, telling(createSplitter(true), onQuestion));
    join(upstream, client, telling(createSplitter(false), onAnswer));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    messages: () => messages,
    cut: () => messages >= cutAfter,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** What was seen of the messages between a client and its database. */
export interface SeenMessages<T> {
  /** Of the same database; only messages of this one are seen. */
  readonly url: string;
  /** What was seen since the last call. */
  take(): readonly T[];
  close(): Promise<void>;
}

/** @param read what is kept of a message; `undefined`: nothing */
export async function seeMessages<T>(
  url: string,
  side: 'questions' | 'answers',
  read: (message: Buffer) => T | undefined,
): Promise<SeenMessages<T>> {
  const target = new URL(url);
  let seen: T[] = [];
  const nothing = () => undefined;
  const see = (message: Buffer) => {
    const kept = read(message);
    if (kept !== undefined) seen.push(kept);
  };
  const proxy = await createPostgresProxy(
    { host: target.hostname, port: Number(target.port) },
    undefined,
    nothing,
    side === 'answers' ? see : nothing,
    side === 'questions' ? see : nothing,
  );
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  return {
    url: target.href,
    take: () => {
      const taken = seen;
      seen = [];
      return taken;
    },
    close: () => proxy.close(),
  };
}
