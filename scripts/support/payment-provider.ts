/**
 * A payment provider on loopback, as strict as a real one: the same `Idempotency-Key` again is the same charge. What it has charged stands in an
 * append-only file, one line a charge: the witness of the demo.
 *
 * @module
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gate } from './gate.ts';

export interface Charge {
  readonly chargeId: string;
  readonly key: string;
  readonly orderId: string;
  readonly amount: number;
}

export interface HeldAnswer {
  /** The provider has done what it was asked, and has not answered yet. */
  readonly arrived: Promise<void>;
  release(): void;
}

export interface PaymentProvider {
  readonly url: string;
  /** The keys of the calls for an order, in order of arrival: one more than the charges means that somebody asked twice. */
  keysOf(orderId: string): readonly string[];
  /** The charges for an order, from the file. */
  chargesOf(orderId: string): readonly Charge[];
  /** How often the statement was asked for. */
  statements(): number;
  /** Keeps back the next answer under a path. */
  holdNext(path: 'charges' | 'statement'): HeldAnswer;
  stop(): Promise<void>;
}

interface Hold {
  readonly path: string;
  readonly reached: () => void;
  readonly released: Promise<void>;
}

/** `ledger`: the file; it is emptied. */
export async function startPaymentProvider(ledger: string): Promise<PaymentProvider> {
  writeFileSync(ledger, '');
  const calls: { readonly orderId: string; readonly key: string }[] = [];
  const holds: Hold[] = [];
  let statements = 0;

  const charges = (): Charge[] =>
    readFileSync(ledger, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Charge);

  const charge = (key: string, { orderId, amount }: { orderId: string; amount: number }): Charge => {
    calls.push({ orderId, key });
    const all = charges();
    const before = all.find((made) => made.key === key);
    if (before !== undefined) return before;
    const made = { chargeId: `ch_${String(all.length + 1).padStart(4, '0')}`, key, orderId, amount };
    appendFileSync(ledger, `${JSON.stringify(made)}\n`);
    return made;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url?.slice(1) ?? '';
    let reply: { readonly status: number; readonly body: object };
    if (request.method === 'POST' && path === 'charges') {
      const key = request.headers['idempotency-key'];
      if (typeof key !== 'string') reply = { status: 400, body: { error: 'a charge needs an Idempotency-Key' } };
      else reply = { status: 201, body: charge(key, JSON.parse(await textOf(request)) as { orderId: string; amount: number }) };
    } else if (request.method === 'GET' && path === 'statement') {
      statements += 1;
      const all = charges();
      reply = { status: 200, body: { charges: all.length, amount: all.reduce((sum, { amount }) => sum + amount, 0) } };
    } else {
      reply = { status: 404, body: { error: 'charges and statement are all there is' } };
    }
    const at = holds.findIndex((hold) => hold.path === path);
    const [hold] = at < 0 ? [] : holds.splice(at, 1);
    hold?.reached();
    await hold?.released;
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.body));
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(0, '127.0.0.1', listening));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keysOf: (orderId) => calls.filter((call) => call.orderId === orderId).map(({ key }) => key),
    chargesOf: (orderId) => charges().filter((made) => made.orderId === orderId),
    statements: () => statements,
    holdNext(path) {
      const arrival = gate();
      const answer = gate();
      holds.push({ path, reached: arrival.open, released: answer.opened });
      return { arrived: arrival.opened, release: answer.open };
    },
    async stop() {
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
