/**
 * Servers that keep what they answered, and can be killed. DynamoDB Local keeps its data in a folder, and takes another port when it is started again: a
 * proxy stands where it is looked for. Not Azurite: it saves its tables now and then, and stopped under load it had lost them.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { javaAvailable, startDynamoDbLocal } from '../support/dynamodb.ts';
import { postgresAvailable, startPostgres } from '../support/postgres.ts';
import { redisAvailable, startRedis } from '../support/redis.ts';
import type { Place } from './place.ts';

export interface Mortal {
  readonly place: Place;
  /** At once: nothing is saved that is not saved yet. */
  die(): Promise<void>;
  /** On the same data, where it was. */
  rise(): Promise<void>;
  stop(): Promise<void>;
}

/** undefined: this machine does not have it, which is a failure under `CI=true`. */
export const MORTALS: Readonly<Record<string, () => Promise<Mortal | undefined>>> = {
  async postgres() {
    if (!(await postgresAvailable())) return undefined;
    const server = await startPostgres({ own: true, durable: true });
    const { url } = await server.database();
    return { place: { kind: 'postgres', url }, die: () => server.crash(), rise: () => server.restart(), stop: () => server.stop() };
  },
  redis: () => redis(true),
  /** It forgets everything: the control. */
  'redis-without-a-file': () => redis(false),
  async dynamodb() {
    if (!(await javaAvailable())) return undefined;
    return inFolder(async (folder) => {
      const { endpoint, stop } = await startDynamoDbLocal({ folder });
      const { port } = new URL(endpoint);
      return {
        port: Number(port),
        stop,
        placeAt: (own) => ({ kind: 'dynamodb', endpoint: endpoint.replace(port, String(own)), tableName: 'kills' }),
      };
    });
  },
};

async function redis(appendOnly: boolean): Promise<Mortal | undefined> {
  if (!redisAvailable()) return undefined;
  const server = await startRedis({ appendOnly });
  return { place: { kind: 'redis', url: server.url }, die: () => server.kill(), rise: () => server.restart(), stop: () => server.stop() };
}

interface Emulated {
  readonly port: number;
  /** By SIGTERM. */
  stop(): Promise<void>;
  placeAt(port: number): Place;
}

async function inFolder(start: (folder: string) => Promise<Emulated>): Promise<Mortal> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-mortal-'));
  let running: Emulated | undefined = await start(folder);
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer((socket) => {
    keep(socket);
    if (running === undefined) return socket.destroy();
    const onward = keep(connect(running.port, '127.0.0.1'));
    socket.pipe(onward).pipe(socket);
    for (const [one, other] of [[socket, onward] as const, [onward, socket] as const]) one.on('close', () => other.destroy());
    return undefined;
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const place = running.placeAt((server.address() as AddressInfo).port);
  const die = async (): Promise<void> => {
    const dying = running;
    running = undefined;
    for (const socket of sockets) socket.destroy();
    await dying?.stop();
  };
  return {
    place,
    die,
    async rise() {
      running = await start(folder);
    },
    async stop() {
      await die();
      await new Promise((closed) => server.close(closed));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
