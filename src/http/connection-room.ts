/** Makes room for new connections: if there are too many, idle connections of the busiest address are closed first. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface Room {
  readonly connections: number;
  /** The most connections of one address. */
  readonly ofAddress: number;
}

/** Accepts every new connection. If the limit is reached, ends the oldest connection that has no request in progress. */
export function keepRoom(server: Server, { connections, ofAddress }: Room): void {
  /** The connections with their addresses, the oldest first. */
  const open = new Map<Socket, string>();
  const answering = new Set<Socket>();
  const socketsOf = (address: string) => [...open.keys()].filter((socket) => open.get(socket) === address);
  const end = (sockets: readonly Socket[]) =>
    (sockets.find((socket) => !answering.has(socket)) ?? sockets[0])?.destroy();
  const forget = (socket: Socket) => {
    open.delete(socket);
    answering.delete(socket);
  };
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const rivals = socketsOf(address);
    if (rivals.length >= ofAddress) end(rivals);
    else if (open.size >= connections) {
      const crowds = [...new Set(open.values())].map(socketsOf);
      end(crowds.reduce((most, crowd) => (crowd.length > most.length ? crowd : most), []));
    }
    open.set(socket, address);
    socket.once('close', () => forget(socket));
  });
  server.on('request', ({ socket }, response) => {
    answering.add(socket);
    response.once('close', () => answering.delete(socket));
  });
}
