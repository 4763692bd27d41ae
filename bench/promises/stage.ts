/**
 * Where a trial happens: worker processes by letters, a wire that can lose an answer, and the witness.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { FaultProxy, ProxiedRequest } from '../../test/support/faults.ts';
import { startFaultProxy } from '../../test/support/proxy.ts';
import { redisFraming, startTcpFaultProxy } from '../../test/support/tcp-proxy.ts';
import { type Call, Hand, type LockOrder } from './hand.ts';
import type { Peer } from './peers.ts';
import type { Answer, CallOrder, LockAnswer, Terms } from './protocol.ts';
import type { Services } from './services.ts';
import { type Effect, effectsOf } from './witness.ts';

/** The trial never got to what it was to look at: counted apart, never as kept or broken. */
export class NotReached extends Error {}

export const LEASE_MS = 2_000;
export const DAY_MS = 86_400_000;
/** Of two callers' clocks, by the store: what rerunsafe adds on DynamoDB. */
const UNCERTAINTY_MS = 2_000;
/** After a crash, within which the key must be of use again: lease, uncertainty, and three seconds for the requests on a busy machine. */
export const FREE_AGAIN_MS = LEASE_MS + UNCERTAINTY_MS + 3_000;
const POLL_MS = 100;

export class Stage {
  readonly peer: Peer;
  readonly services: Services;
  readonly #lane: string;
  readonly #hands = new Map<string, Hand>();
  #proxy: FaultProxy | undefined;

  constructor(peer: Peer, services: Services, lane: string) {
    this.peer = peer;
    this.services = services;
    this.#lane = lane;
  }

  /** Everything it says goes over a wire of its own from now on. */
  async wire(): Promise<void> {
    const target = new URL(this.peer.store === 'dynamodb' ? this.services.place.dynamodb : (this.services.place.redis[0] ?? ''));
    const targetPort = Number(target.port);
    this.#proxy = this.peer.store === 'dynamodb' ? await startFaultProxy({ targetPort }) : await startTcpFaultProxy(targetPort, redisFraming);
  }

  /** The answer to the next write is lost on its way; applied it is. Settles when that has happened. */
  loseNextWrite(): Promise<unknown> {
    if (this.#proxy === undefined) throw new Error('there is no wire');
    this.#proxy.clear();
    return this.#proxy.inject({ match: this.peer.store === 'dynamodb' ? writesItem : writesKey, action: 'drop-answer' }).fired;
  }

  /** The worker of that letter, ready; a new one where it was killed. */
  async hand(letter: string): Promise<Hand> {
    let hand = this.#hands.get(letter);
    if (hand === undefined || hand.gone) {
      const { place } = this.services;
      const url = this.#proxy?.url;
      const wired =
        url === undefined
          ? {}
          : this.peer.store === 'dynamodb'
            ? { dynamodb: url }
            : { redis: [url.replace('tcp:', 'redis:'), ...place.redis.slice(1)] };
      hand = new Hand({ ...place, ...wired, peer: this.peer.id, who: `${letter}${this.#lane}` });
      this.#hands.set(letter, hand);
    }
    await hand.ready;
    return hand;
  }

  key(): string {
    return `key ${randomUUID()}`;
  }

  terms(more: Partial<Terms> = {}): Terms {
    return { leaseMs: LEASE_MS, keepMs: DAY_MS, wait: false, onUnknown: 'retry', ...more };
  }

  async call(letter: string, key: string, more: Partial<Omit<CallOrder, 'key' | 'terms'>> & { readonly terms?: Partial<Terms> } = {}): Promise<Call> {
    return (await this.hand(letter)).call({ key, amount: 1, ends: 'return', afterMs: 0, ...more, terms: this.terms(more.terms) });
  }

  /** A call that is at work by now, and holds on there. */
  async begin(letter: string, key: string, terms: Partial<Terms>): Promise<Call> {
    const call = await this.call(letter, key, { ends: 'hold', terms });
    const early = await Promise.race([call.atWork.then(() => undefined), call.answer]);
    if (early !== undefined) throw new NotReached(`the first never got to work (${early.kind})`);
    return call;
  }

  /** Calls again while it is told to, as a caller does. What it was told last, after at most so long. */
  async callUntil(letter: string, key: string, withinMs: number, more: Parameters<Stage['call']>[2] = {}): Promise<Answer> {
    const untilMs = Date.now() + withinMs;
    for (;;) {
      const answer = await (await this.call(letter, key, more)).answer;
      if ((answer.kind !== 'in-progress' && answer.kind !== 'failed') || Date.now() > untilMs) return answer;
      await pause(POLL_MS);
    }
  }

  /** Until its work has begun. */
  async workUntil(letter: string, key: string, withinMs: number, more: Parameters<Stage['call']>[2] = {}): Promise<Call> {
    const untilMs = Date.now() + withinMs;
    while (Date.now() <= untilMs) {
      const call = await this.call(letter, key, { ends: 'hold', ...more });
      if ((await Promise.race([call.atWork, call.answer.then(() => undefined)])) !== undefined) return call;
      await pause(POLL_MS);
    }
    throw new NotReached('the second never got to work');
  }

  async lock(letter: string, name: string, order: LockOrder): Promise<LockAnswer> {
    return (await this.hand(letter)).lock(name, order);
  }

  async acquireUntil(letter: string, name: string, withinMs: number, leaseMs: number): Promise<LockAnswer | undefined> {
    const untilMs = Date.now() + withinMs;
    while (Date.now() <= untilMs) {
      // While its connection is down, it fails.
      const got = await this.lock(letter, name, { do: 'acquire', leaseMs }).catch(() => undefined);
      if (got?.done) return got;
      await pause(POLL_MS);
    }
    return undefined;
  }

  effects(key: string): Effect[] {
    return effectsOf(this.services.place.witness, key);
  }

  async end(): Promise<void> {
    await Promise.all([...this.#hands.values()].map((hand) => hand.kill()));
    await this.#proxy?.stop();
  }
}

const writesItem = ({ headers }: ProxiedRequest): boolean => /\.(Put|Update|Delete)Item$/.test(String(headers['x-amz-target']));
/** Plain SET, or a script of rerunsafe that names what it does. */
const writesKey = ({ body }: ProxiedRequest): boolean => /\r\n(set|create|replace)\r\n/i.test(body.toString('latin1'));
