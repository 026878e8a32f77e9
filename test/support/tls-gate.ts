import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** Speaks TLS in front of a plain server. While it is shut it takes connections, and leaves their handshake be. */
export interface TlsGate {
  readonly port: number;
  shut(): void;
  /** Goes on with those that wait as well. */
  open(): void;
  /** How many wait for their handshake. */
  waiting(): number;
  /** Ends the connections that stand. */
  cut(): void;
  close(): Promise<void>;
}

export async function createTlsGate(
  target: { readonly host: string; readonly port: number },
  certificate: { readonly key: string; readonly cert: string },
): Promise<TlsGate> {
  const standing = new Set<Socket>();
  let waiting: Socket[] | undefined;
  const keep = (socket: Socket) => {
    standing.add(socket);
    socket.on('error', () => undefined).on('close', () => standing.delete(socket));
  };
  const tls = createTlsServer(certificate, (client) => {
    const upstream = connect(target);
    keep(client);
    keep(upstream);
    client.pipe(upstream);
    upstream.pipe(client);
  }).on('tlsClientError', () => undefined);
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    keep(socket);
    if (waiting === undefined) tls.emit('connection', socket);
    else waiting.push(socket);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const cut = () => {
    for (const socket of standing) socket.destroy();
  };
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    shut: () => {
      waiting ??= [];
    },
    open: () => {
      for (const socket of waiting ?? []) tls.emit('connection', socket);
      waiting = undefined;
    },
    waiting: () => waiting?.length ?? 0,
    cut,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
