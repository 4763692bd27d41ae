/**
 * Rounds of such traffic on a store, and over a wire that spoils some of its requests.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { randomOf } from '../steps/plans.ts';
import type { FaultAction, ProxiedRequest } from '../support/faults.ts';
import { byLength } from '../support/long.ts';
import type { SubjectKind, Wire, WireClient } from '../support/subject.ts';
import { memoryHistory } from './log.ts';
import type { Delivery } from './register.ts';
import { drive, type Judged, judgeTraffic } from './register-clients.ts';

export const CLIENTS = 6;
export const KEYS = 3;
/** Of each client: so that no key has more than 200. */
const OPERATIONS = byLength(40, 70, 80);
const MOST_OF_A_KEY = 200;
export const ROUNDS = byLength(1, 1, 40);
/** A seed repeats all choices; when what arrives is up to the machine. */
export const SEED = Number(process.env.SEED ?? (Math.random() * 2 ** 31) | 0);
const FAULT_SHARE = 0.02;
const OURS = 'history-of-';
const OPS = ['create', 'replace', 'delete', 'read'] as const;

/** Nobody tries again by themselves. */
const ONCE: readonly FaultAction[] = ['drop-answer', 'drop-request', 'half-answer', { delayMs: 40 }, { delayMs: 40, at: 'request' }];
const AGAIN: readonly FaultAction[] = [...ONCE, 'duplicate', 'close-after'];

export const keysOf = (round: number): string[] => Array.from({ length: KEYS }, (_, n) => `${OURS}${round}-${n}-${randomUUID()}`);

/** Rows that are deleted come back where a creation is sent twice: then nobody deletes. */
export async function roundOf(open: (random: () => number) => RecordStore, delivery: Delivery, round: number): Promise<Judged> {
  const random = randomOf(SEED + round);
  const keys = keysOf(round);
  const history = memoryHistory();
  const traffic = { keys, operations: OPERATIONS, deletes: delivery.sent === 'once', impatience: { share: 0.05, withinMs: 30 }, random };
  await Promise.all(Array.from({ length: CLIENTS }, (_, n) => drive(open(random), history, `client ${n + 1}`, traffic)));
  return judgeTraffic(history.events(), keys, delivery);
}

export function deliveryOf(kind: SubjectKind, client: WireClient): Delivery {
  // The driver of PostgreSQL never tries again anyway.
  const neverAgain = client === 'a client that never tries again' || kind.wireClients?.includes('a client that never tries again') === false;
  return { sent: neverAgain ? 'once' : 'again', showsAtOnce: kind.returnsStanding };
}

export async function trafficOverWire(wire: Wire, client: WireClient, delivery: Delivery): Promise<Judged[]> {
  const random = randomOf(SEED);
  const isOurs = OPS.map((op) => wire.is(op, OURS));
  let over = false;
  for (const action of delivery.sent === 'once' ? ONCE : AGAIN) {
    const match = (request: ProxiedRequest): boolean => !over && isOurs.some((is) => is(request)) && random() < FAULT_SHARE;
    wire.proxy.inject({ match, times: Number.POSITIVE_INFINITY, action });
  }
  const judged: Judged[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const stores: ReturnType<typeof wire.open>[] = [];
    const open = (): RecordStore => {
      const store = wire.open(client);
      stores.push(store);
      return store;
    };
    try {
      judged.push(await roundOf(open, delivery, round));
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  }
  over = true;
  return judged;
}

/** Prints what there was, and fails where something is wrong, or would have shown nothing. `doubts`: some writes have no known outcome. */
export function expectRight(name: string, judged: readonly Judged[], command: string, doubts = true): void {
  const sum = (of: (one: Judged) => number): number => judged.reduce((total, one) => total + of(one), 0);
  const unknown = sum((one) => one.unknown);
  const most = Math.max(...judged.map(({ mostOfAKey }) => mostOfAKey));
  console.log(
    `${name}: ${sum(({ calls }) => calls)} calls, ${sum(({ refused }) => refused)} refused, ${unknown} writes in doubt, at most ${most} calls of one key, seed ${SEED}`,
  );
  expect(judged.flatMap(({ wrong }) => wrong).join('\n'), `SEED=${SEED} ${command}`).toBe('');
  for (const { refused } of judged) expect(refused).toBeGreaterThan(0);
  if (doubts) expect(unknown).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(MOST_OF_A_KEY);
}
