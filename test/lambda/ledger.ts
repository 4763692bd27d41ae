/**
 * Outside of every sandbox: what handlers have done, in order of arrival, and a place where a test can make them wait.
 *
 * @module
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Entry {
  /** Which piece of work: a key, an order. */
  readonly id: string;
  readonly what: string;
  readonly atMs: number;
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Ledger {
  readonly url: string;
  /** What was told of `id`; with `what`, only that. */
  of(id: string, what?: string): Entry[];
  /** Resolves when `what` is told of `id` for the `times`-th time (default the first); at once where that is so already. */
  reached(id: string, what: string, times?: number): Promise<Entry>;
  /** From now on, whoever waits for `id` goes on; `hold` is ended. */
  letGo(id: string): void;
  close(): Promise<void>;
}

/** `POST /` with `{ id, what, facts }` is written down; with `hold: true` it is answered when the test lets go. */
export async function startLedger(): Promise<Ledger> {
  const entries: Entry[] = [];
  const free = new Set<string>();
  const held: { readonly id: string; readonly go: () => void }[] = [];
  const hoping: { readonly isSo: () => Entry | undefined; readonly tell: (entry: Entry) => void }[] = [];
  const of: Ledger['of'] = (id, what) => entries.filter((entry) => entry.id === id && (what === undefined || entry.what === what));

  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const { id, what, facts, hold } = JSON.parse(text) as Entry & { readonly hold?: boolean };
      entries.push({ id, what, facts, atMs: Date.now() });
      for (const hope of hoping.splice(0)) {
        const entry = hope.isSo();
        if (entry === undefined) hoping.push(hope);
        else hope.tell(entry);
      }
      const go = (): void => void response.writeHead(204).end();
      if (hold === true && !free.has(id)) held.push({ id, go });
      else go();
    });
  });
  // A held answer waits as long as the test wants.
  server.requestTimeout = 0;
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(0, '127.0.0.1', listening));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    of,
    reached(id, what, times = 1) {
      const isSo = (): Entry | undefined => of(id, what)[times - 1];
      const entry = isSo();
      if (entry !== undefined) return Promise.resolve(entry);
      return new Promise((tell) => hoping.push({ isSo, tell }));
    },
    letGo(id) {
      free.add(id);
      for (const one of held) if (one.id === id) one.go();
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
