/**
 * Several at once, another payload, and a record that is older than it is kept.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { toldBy } from './paused.ts';
import type { Scenario, Trial } from './scenario.ts';

const CALLERS = ['a', 'b', 'c', 'd'] as const;

export const sameTime: Scenario = {
  id: 'same-time',
  title: `${CALLERS.length} processes call at once with one key, and wait`,
  kind: 'calls',
  hands: CALLERS,
  checks: [
    { id: 'once', promise: 'I1', broken: 'more than one effect' },
    { id: 'agree', promise: 'I2', broken: 'not all were told the one answer' },
  ],
  async trial(stage): Promise<Trial> {
    const key = stage.key();
    const order = { afterMs: 150, terms: { leaseMs: 20_000, wait: true } };
    const calls = await Promise.all(CALLERS.map((letter) => stage.call(letter, key, order)));
    const answers = await Promise.all(calls.map(({ answer }) => answer));
    const effects = stage.effects(key).length;
    const told = new Set(answers.map(toldBy));
    return {
      broken: { once: effects > 1, agree: told.size > 1 || answers[0]?.kind !== 'value' },
      seen: `${effects} effect${effects === 1 ? '' : 's'}, ${told.size} different answer${told.size === 1 ? '' : 's'}`,
    };
  },
};

export const otherPayload: Scenario = {
  id: 'other-payload',
  title: 'another payload under the same key',
  kind: 'calls',
  hands: ['a', 'b'],
  checks: [
    { id: 'during', promise: 'I9', broken: 'not refused as such while the first is at work' },
    { id: 'after', promise: 'I9', broken: 'not refused as such after the first completed' },
  ],
  async trial(stage): Promise<Trial> {
    const key = stage.key();
    const first = await stage.begin('a', key, { leaseMs: 20_000 });
    const during = await (await stage.call('b', key, { amount: 2 })).answer;
    first.goOn('return');
    await first.answer;
    const after = await (await stage.call('b', key, { amount: 2 })).answer;
    return {
      broken: { during: during.kind !== 'other-payload', after: after.kind !== 'other-payload' },
      seen: `while at work: "${during.kind}"; after: "${after.kind}"`,
    };
  },
};

const KEEP_MS = 5_000;
/** Long enough not to run out for want of a renewal where the machine is busy. */
const RENEWED_MS = 4_000;
/** Powertools tells whole seconds. */
const WORK_MS = KEEP_MS + 2_500;

export const expired: Scenario = {
  id: 'expired',
  title: `the record is kept for ${KEEP_MS / 1_000} s, the work takes ${WORK_MS / 1_000} s, and a duplicate tries all the while`,
  kind: 'calls',
  hands: ['a', 'b'],
  checks: [
    { id: 'overlap', promise: 'I6', broken: 'the duplicate ran while the first was at work' },
    { id: 'agree', promise: 'I2', broken: 'the callers were told different answers' },
  ],
  async trial(stage): Promise<Trial> {
    const key = stage.key();
    // What is left to a Lambda invocation covers the work; a lease does so by being renewed.
    const terms = { keepMs: KEEP_MS, leaseMs: stage.peer.id === 'powertools' ? 60_000 : RENEWED_MS };
    const first = await stage.begin('a', key, terms);
    const endsAtMs = Date.now() + WORK_MS;
    const told: string[] = [];
    while (Date.now() < endsAtMs) {
      const answer = await (await stage.call('b', key, { terms })).answer;
      if (answer.kind === 'value') told.push(answer.value);
      await pause(200);
    }
    const overlap = stage.effects(key).length > 1;
    first.goOn('return');
    told.push(toldBy(await first.answer), toldBy(await (await stage.call('b', key, { terms })).answer));
    return {
      broken: { overlap, agree: new Set(told).size > 1 },
      seen: overlap ? 'the duplicate ran beside the first' : 'the duplicate was told "in progress", then the answer of the first',
    };
  },
};
