import { connect, createServer, type Socket } from 'node:net';

/** A loopback stand-in for a server, on which a test can break what networks break. */
export interface TcpProxy {
  readonly port: number;
  /** Sees the client's bytes before they go on; returns whether the connection lives. */
  onClientBytes: (bytes: Buffer) => 'forward' | 'swallow' | 'forward-and-cut';
  /** Everything that clients sent so far. */
  readonly seen: () => Buffer;
  close(): Promise<void>;
}

export async function createTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const chunks: Buffer[] = [];
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = connect(target);
    keep(client);
    keep(upstream);
    client.on('data', (bytes) => {
      chunks.push(bytes);
      const verdict = proxy.onClientBytes(bytes);
      if (verdict === 'swallow') return;
      upstream.write(bytes);
      // The server gets it, and its answer finds nobody.
      if (verdict === 'forward-and-cut') client.destroy();
    });
    upstream.on('data', (bytes) => {
      if (!client.destroyed) client.write(bytes);
    });
    client.on('close', () => upstream.end());
    upstream.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const proxy: TcpProxy = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    onClientBytes: () => 'forward',
    seen: () => Buffer.concat(chunks),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
  return proxy;
}
