/**
 * A way to an emulator that can be cut, or that leads nowhere.
 *
 * @module
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly endpoint: string;
  /** How many connections were made. */
  readonly connections: number;
  /** Closes all connections, as a service does that has seen nothing on them for a while. */
  cut(): void;
  close(): Promise<void>;
}

/** `to`: where it leads; undefined: it takes connections and never answers. */
export async function startRelay(to?: string): Promise<Relay> {
  const sockets = new Set<Socket>();
  let connections = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
  };
  const server = createServer((near) => {
    connections += 1;
    keep(near);
    if (to === undefined) return;
    const { hostname, port } = new URL(to);
    const far = connect(Number(port), hostname);
    keep(far);
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get connections() {
      return connections;
    },
    cut,
    async close() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
