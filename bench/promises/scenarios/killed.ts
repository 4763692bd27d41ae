/**
 * A process is killed after its effect, before its result is saved.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Terms } from '../protocol.ts';
import { FREE_AGAIN_MS, type Stage } from '../stage.ts';
import type { Check, Scenario, Trial } from './scenario.ts';

const TWICE: Check = { id: 'twice', promise: '–', broken: 'the effect happened twice' };

async function kill(stage: Stage, terms: Partial<Terms>) {
  const key = stage.key();
  await stage.begin('a', key, terms);
  await (await stage.hand('a')).kill();
  const atMs = Date.now();
  const early = await (await stage.call('b', key, { terms })).answer;
  let again: { readonly again: boolean } | undefined;
  let answer: Answer = early;
  while (answer.kind === 'in-progress' && Date.now() - atMs < FREE_AGAIN_MS) {
    await pause(100);
    const call = await stage.call('b', key, { terms });
    void call.atWork.then((told) => {
      again = told;
    });
    answer = await call.answer;
  }
  return { early, answer, again, effects: stage.effects(key).length, afterMs: Date.now() - atMs };
}

const SEEN = {
  value: 'got a value without an effect of its own',
  'in-progress': 'was told "in progress" to the end',
  unknown: 'was told that nobody knows, and to ask a person',
} as const;

const seen = (answer: Answer, effects: number, afterMs: number): string =>
  effects > 1
    ? `ran again, about ${Math.round(afterMs / 1_000)} s after the kill`
    : `the next call ${SEEN[answer.kind as keyof typeof SEEN] ?? `was told: ${answer.kind}`}`;

export const killed: Scenario = {
  id: 'killed',
  title: 'killed after the effect, before saving; defaults',
  kind: 'calls',
  hands: ['a', 'b'],
  checks: [
    { id: 'early', promise: 'I6', broken: 'the next call ran at once, as if nobody could still be at work' },
    { id: 'free', promise: 'I10', broken: `no end for the key within lease + uncertainty + 3 s (${FREE_AGAIN_MS} ms)` },
    { id: 'untold', promise: 'I8', broken: 'the work ran again and was not told that it is a second attempt' },
    TWICE,
  ],
  async trial(stage): Promise<Trial> {
    const { early, answer, again, effects, afterMs } = await kill(stage, {});
    return {
      broken: {
        early: early.kind === 'value',
        free: answer.kind === 'in-progress',
        untold: effects > 1 && again?.again !== true,
        twice: effects > 1,
      },
      seen: seen(answer, effects, afterMs),
    };
  },
};

const withMeans = (onUnknown: 'block' | 'ask', title: string, answered: 'unknown' | 'value'): Scenario => ({
  id: onUnknown,
  title: `the same; ${title}`,
  kind: 'calls',
  hands: ['a', 'b'],
  checks: [
    { id: 'untold', promise: 'I8', broken: `the next caller did not get ${answered === 'value' ? 'the answer of the far side' : '"unknown"'}` },
    TWICE,
  ],
  async trial(stage): Promise<Trial> {
    const { answer, effects, afterMs } = await kill(stage, { onUnknown });
    return { broken: { untold: answer.kind !== answered, twice: effects > 1 }, seen: seen(answer, effects, afterMs) };
  },
});

export const killedBlocking = withMeans('block', "by the peer's own means: a person decides (`onUnknown: 'block'`)", 'unknown');
export const killedAsking = withMeans('ask', "by the peer's own means: the far side is asked (`onUnknown: () => …`)", 'value');
