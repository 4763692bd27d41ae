/**
 * A provider on loopback that fails at random, before and after its effect, and keeps a ledger of what it has done: the witness of the orders.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Dice } from '../../test/simulation/world.ts';

/** Longer than a client waits for an answer; what it has sent is still valid. */
const LATE_MS = { from: 160, to: 210 };
/** Longer than what it has sent is valid. */
const TOO_LATE_MS = { from: 300, to: 1_300 };
const DOWN_MS = { from: 10, to: 40 };

/** What goes wrong with a call, and in how many of a thousand. */
const FAULTS = {
  'the connection is cut before the effect': 30,
  'the connection is cut after the effect': 30,
  'a 500 before the effect': 30,
  'a 500 after the effect': 30,
  'too busy, nothing done': 20,
  'the effect at once, the answer too late': 20,
  'the effect after the caller has given up': 20,
  'the effect after the deadline of the caller': 30,
  'a crash before the effect': 4,
  'a crash after the effect': 4,
} as const;
type Fault = keyof typeof FAULTS;

export interface Effect {
  readonly id: string;
  /** What the caller sent to tell it by. */
  readonly key: string;
  /** Which order, or which mail. */
  readonly of: string;
}

export interface Ledger {
  readonly effects: readonly Effect[];
  readonly calls: number;
  /** Calls that ended otherwise than they should. */
  readonly faults: number;
  readonly crashes: number;
}

export interface Provider {
  readonly url: string;
  readonly ledger: Ledger;
  stop(): Promise<void>;
}

export interface ProviderOptions {
  readonly dice: Dice;
  readonly prefix: string;
  /** The same key again is the same effect. */
  readonly knowsKeys: boolean;
  /** Nothing is begun after the moment that the caller has named. */
  readonly keepsDeadlines: boolean;
}

interface Reply {
  readonly status: number;
  readonly id?: string;
}

export async function startProvider({ dice, prefix, knowsKeys, keepsDeadlines }: ProviderOptions): Promise<Provider> {
  const effects: Effect[] = [];
  const byKey = new Map<string, Effect>();
  const ledger = { effects, calls: 0, faults: 0, crashes: 0 };
  let isDown = false;

  const act = ({ of, key, untilMs }: { of: string; key: string; untilMs: number }): Reply => {
    const before = byKey.get(key);
    if (knowsKeys && before !== undefined) return before.of === of ? { status: 200, id: before.id } : { status: 422 };
    if (keepsDeadlines && Date.now() >= untilMs) return { status: 408 };
    const effect = { id: `${prefix}_${effects.length + 1}`, key, of };
    effects.push(effect);
    if (before === undefined) byKey.set(key, effect);
    return { status: 201, id: effect.id };
  };

  /** All calls under way end with no answer, and what they have not done yet is never done. */
  const crash = (): void => {
    ledger.crashes += 1;
    isDown = true;
    server.closeAllConnections();
    setTimeout(
      () => {
        isDown = false;
      },
      dice.between(DOWN_MS.from, DOWN_MS.to),
    );
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { crashes } = ledger;
    const send = ({ status, id }: Reply): unknown => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ id }));
    const asked = new URL(request.url ?? '', 'http://loopback').searchParams.get('reference');
    const body = asked === null ? (JSON.parse(await textOf(request)) as { of: string; reference?: string }) : { of: '' };
    ledger.calls += 1;
    const fault = drawn(dice);
    if (fault !== undefined) ledger.faults += 1;

    if (fault === 'the connection is cut before the effect') return void request.socket.destroy();
    if (fault === 'a 500 before the effect') return void send({ status: 500 });
    if (fault === 'too busy, nothing done') return void send({ status: 429 });
    if (fault === 'a crash before the effect') return crash();
    await pause(workMs(fault, dice));
    if (crashes !== ledger.crashes) return;

    const key = String(request.headers['idempotency-key'] ?? body.reference);
    const found = byKey.get(asked ?? '');
    const reply =
      asked === null
        ? act({ of: body.of, key, untilMs: Number(request.headers['valid-until'] ?? Number.POSITIVE_INFINITY) })
        : { status: found === undefined ? 404 : 200, ...(found && { id: found.id }) };
    if (fault === 'the connection is cut after the effect') return void request.socket.destroy();
    if (fault === 'a 500 after the effect') return void send({ status: 500 });
    if (fault === 'a crash after the effect') return crash();
    if (fault === 'the effect at once, the answer too late') await pause(dice.between(LATE_MS.from, LATE_MS.to));
    send(reply);
  };

  const server = createServer((request, response) => {
    // A caller that was killed, or cut off, leaves a body without an end.
    answer(request, response).catch(() => request.socket.destroy());
  });
  server.on('connection', (socket) => {
    if (isDown) socket.destroy();
  });
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(0, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    ledger,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function workMs(fault: Fault | undefined, dice: Dice): number {
  if (fault === 'the effect after the caller has given up') return dice.between(LATE_MS.from, LATE_MS.to);
  if (fault === 'the effect after the deadline of the caller') return dice.between(TOO_LATE_MS.from, TOO_LATE_MS.to);
  return dice.between(0, 4);
}

function drawn(dice: Dice): Fault | undefined {
  let left = dice.below(1000);
  for (const [fault, share] of Object.entries(FAULTS)) {
    left -= share;
    if (left < 0) return fault as Fault;
  }
  return undefined;
}

async function textOf(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
