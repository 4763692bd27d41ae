/**
 * A process stands still for longer than it was given (SIGSTOP), somebody else takes over, and it wakes up (SIGCONT).
 *
 * @module
 */
import type { Answer, Terms } from '../protocol.ts';
import { LEASE_MS, NotReached, type Stage } from '../stage.ts';
import type { Scenario, Trial } from './scenario.ts';

const TAKEN_OVER_WITHIN_MS = 10_000;
const LONG_MS = 30_000;

/** `@node-idempotency/core` has one number for both: with its default of 24 h nobody would take over, and the key would be stuck that long. */
export const termsOf = ({ peer }: Stage, leaseMs: number): Partial<Terms> => ({
  leaseMs,
  ...(peer.id === 'node-idempotency' ? { keepMs: leaseMs } : {}),
});

export const toldBy = (answer: Answer): string => (answer.kind === 'value' ? answer.value : answer.kind);

export const staleResult: Scenario = {
  id: 'stale-result',
  title: 'paused past its lease, another completes, then it wakes and returns',
  kind: 'calls',
  hands: ['a', 'b'],
  checks: [
    { id: 'overwritten', promise: 'I1 I3 I4', broken: 'a later caller got another answer than the first that was accepted' },
    { id: 'agree', promise: 'I2', broken: 'the two callers were told different answers' },
    { id: 'third', promise: 'I3', broken: 'a later call ran the work a third time' },
  ],
  async trial(stage): Promise<Trial> {
    const key = stage.key();
    const terms = termsOf(stage, LEASE_MS);
    const first = await stage.begin('a', key, terms);
    const sleeper = await stage.hand('a');
    sleeper.pause();
    const second = await stage.callUntil('b', key, TAKEN_OVER_WITHIN_MS, { terms: termsOf(stage, LONG_MS) });
    sleeper.resume();
    if (second.kind !== 'value') throw new NotReached('nobody took over');
    first.goOn('return');
    const late = await first.answer;
    const third = await (await stage.call('b', key, { terms: termsOf(stage, LONG_MS) })).answer;
    const effects = stage.effects(key).length;
    return {
      broken: {
        overwritten: third.kind === 'value' && third.value !== second.value,
        agree: late.kind === 'value' && late.value !== second.value,
        third: effects > 2,
      },
      seen: `the sleeper's caller got ${named(late)}, a later one ${named(third)}, ${effects} effects`,
    };
  },
};

export const staleFailure: Scenario = {
  id: 'stale-failure',
  title: 'paused past its lease, another is at work, then it wakes and fails',
  kind: 'calls',
  hands: ['a', 'b', 'c'],
  checks: [
    { id: 'freed', promise: 'I4', broken: "its failure took its successor's record away (or replaced it)" },
    { id: 'three', promise: 'I6', broken: 'a third ran beside the successor' },
    { id: 'agree', promise: 'I2 I3', broken: 'callers were told different answers in the end' },
  ],
  async trial(stage): Promise<Trial> {
    const key = stage.key();
    const long = { terms: termsOf(stage, LONG_MS) };
    const first = await stage.begin('a', key, termsOf(stage, LEASE_MS));
    const sleeper = await stage.hand('a');
    sleeper.pause();
    let second: Awaited<ReturnType<Stage['workUntil']>>;
    try {
      second = await stage.workUntil('b', key, TAKEN_OVER_WITHIN_MS, long);
    } finally {
      sleeper.resume();
    }
    first.goOn('throw');
    await first.answer;
    const third = await (await stage.call('c', key, long)).answer;
    const effects = stage.effects(key).length;
    second.goOn('return');
    const ended = await second.answer;
    const fourth = await (await stage.call('c', key, long)).answer;
    const told = new Set([ended, fourth, ...(third.kind === 'value' ? [third] : [])].map(toldBy));
    return {
      broken: { freed: third.kind !== 'in-progress', three: effects > 2, agree: told.size > 1 },
      seen: `a third caller meanwhile: ${named(third)}; the successor's got ${named(ended)}, a later one ${named(fourth)}`,
    };
  },
};

/** Without the number of the lane. */
const named = (answer: Answer): string =>
  answer.kind === 'value' ? `the result of ${answer.value.slice(3, 4).toUpperCase()}` : answer.kind === 'failed' ? 'a failure' : `"${answer.kind}"`;
