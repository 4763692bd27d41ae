/**
 * A port for a server that has to be told one.
 *
 * @module
 */
import { createServer } from 'node:net';

/** Below the range from which the kernel gives ports to outgoing connections: one of those could take it before the server does. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)));
    if (!free) continue;
    await new Promise((closed) => server.close(closed));
    return port;
  }
}
