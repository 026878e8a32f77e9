import { connect, createServer, type Socket } from 'node:net';

export interface SlowProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** The same database, whose answers take so many ms longer. */
export async function createSlowProxy(url: string, ms: number): Promise<SlowProxy> {
  const target = new URL(url);
  const [port, host] = [Number(target.port), target.hostname];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((client) => {
    const upstream = connect(port, host);
    keep(client);
    keep(upstream);
    client.pipe(upstream);
    upstream.on('data', (bytes) => {
      setTimeout(() => {
        if (!client.destroyed) client.write(bytes);
      }, ms);
    });
    upstream.on('close', () => client.destroySoon());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  target.port = String(typeof address === 'object' && address !== null ? address.port : 0);
  return {
    url: target.href,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
