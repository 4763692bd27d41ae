/**
 * A write reaches the store and its answer is lost: the connection is reset. The client's own retries are as they are by default.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer } from '../protocol.ts';
import { FREE_AGAIN_MS, NotReached } from '../stage.ts';
import type { Scenario, Trial } from './scenario.ts';

async function happened(lost: Promise<unknown>): Promise<void> {
  const inTime = await Promise.race([lost.then(() => true), pause(1_000, false, { ref: false })]);
  if (!inTime) throw new NotReached('no answer was lost');
}

const told = (answer: Answer): string =>
  answer.kind === 'value' ? 'its value' : answer.kind === 'failed' ? 'an error of the connection' : `"${answer.kind}"`;

export const claimLost: Scenario = {
  id: 'claim-lost',
  title: "the answer to the claim's write is lost",
  kind: 'calls',
  hands: ['a'],
  wired: true,
  checks: [
    { id: 'stranger', promise: 'I7', broken: 'the caller was told "already in progress" by its own write' },
    { id: 'free', promise: 'I10', broken: `no answer within ${FREE_AGAIN_MS} ms, trying again as told` },
  ],
  async trial(stage): Promise<Trial> {
    const key = stage.key();
    const lost = stage.loseNextWrite();
    const first = await (await stage.call('a', key)).answer;
    await happened(lost);
    const last = first.kind === 'value' ? first : await stage.callUntil('a', key, FREE_AGAIN_MS);
    return {
      broken: { stranger: first.kind === 'in-progress', free: last.kind !== 'value' },
      seen: `the caller got ${told(first)}${first.kind === 'value' ? '' : `, in the end ${told(last)}`}; ${stage.effects(key).length} effects`,
    };
  },
};

export const completionLost: Scenario = {
  id: 'completion-lost',
  title: "the answer to the completion's write is lost",
  kind: 'calls',
  hands: ['a'],
  wired: true,
  checks: [
    { id: 'failed', promise: 'I7', broken: 'the caller was told of a failure, though the work is done and its result stored' },
    { id: 'again', promise: 'I3', broken: 'a later call ran the work again, or got something else' },
  ],
  async trial(stage): Promise<Trial> {
    const key = stage.key();
    // Long enough for no renewal to be the next write.
    const terms = { leaseMs: 60_000 };
    const call = await stage.begin('a', key, terms);
    const lost = stage.loseNextWrite();
    call.goOn('return');
    const first = await call.answer;
    await happened(lost);
    const later = await stage.callUntil('a', key, FREE_AGAIN_MS, { terms });
    const effects = stage.effects(key).length;
    const same = later.kind === 'value' && (first.kind !== 'value' || first.value === later.value);
    return {
      broken: { failed: first.kind !== 'value', again: effects > 1 || !same },
      seen: `the caller got ${told(first)}, a later one ${told(later)}; ${effects} effects`,
    };
  },
};
