import { describe, expect, it } from 'vitest';
import type { Event, Question, Told } from './format.ts';
import { judgePromises, type Rules } from './promises.ts';
import { textOf } from './violation.ts';

let calls = 0;
const seen = (atMs: number, caller = 'a') => ({ atMs, caller, key: 'k' });
const call = (caller: string, startMs: number, endMs: number, end: object, question: object = { op: 'run' }): Event[] => {
  calls += 1;
  const n = String(calls);
  return [{ ...seen(startMs, caller), what: 'invoke', n, ...(question as Question) } as Event, { ...seen(endMs, caller), n, ...end } as Event];
};
const told = (value: unknown, attempt = 1, more: object = {}): { what: 'ok'; answer: Told } => ({
  what: 'ok',
  answer: { kind: 'completed', value, attempt, replayed: false, saved: true, ...more },
});
const replayed = (value: unknown, attempt = 1) => told(value, attempt, { replayed: true });
const fail = (code: string) => ({ what: 'fail', code });
const began = (atMs: number, attempt: number, caller = 'a', untilMs?: number): Event => ({
  ...seen(atMs, caller),
  what: 'began',
  attempt,
  ...(untilMs === undefined ? {} : { untilMs }),
});
const struck = (caller: string, atMs: number): Event => ({ ...seen(atMs, caller), key: '', what: 'struck', signal: 'SIGKILL', point: 'outside' });
const effect = (atMs: number, attempt = 1, caller = 'a'): Event => ({
  ...seen(atMs, caller),
  what: 'effect',
  attempt,
  step: 's',
  sent: 'k/s',
  value: 'v',
});
const invokeOf = (caller: string, atMs: number): Event => ({ ...seen(atMs, caller), what: 'invoke', n: `${caller} ${atMs}`, op: 'run' });
const row = (caller: string, startMs: number, op: 'create' | 'replace' | 'read'): Event[] =>
  call(
    caller,
    startMs,
    startMs + 1,
    { what: 'ok', answer: op === 'read' ? null : { ok: true, version: `v${startMs}` } },
    { op, record: {}, over: '' },
  );

const found = (events: readonly Event[], rules: Rules = {}): string[] =>
  judgePromises(events, rules).map(({ promise, says }) => `${promise} ${says}`);

describe('the judge of promises', () => {
  it.each<[string, Event[], Rules?]>([
    [
      'a run and its replays',
      [...call('a', 0, 9, told('v')), began(1, 1), effect(2), ...call('b', 3, 5, fail('IN_FLIGHT')), ...call('b', 10, 11, replayed('v'))],
    ],
    ['a crash, and another attempt', [invokeOf('a', 0), began(1, 1), struck('a', 2), ...call('b', 3, 99, told('w', 2)), began(50, 2, 'b')]],
    [
      'a lease that ran out, and its owner goes on',
      [...call('a', 0, 99, replayed('w', 2)), began(1, 1, 'a', 20), ...call('b', 3, 60, told('w', 2)), began(21, 2, 'b')],
    ],
    [
      'work that gave up',
      [...call('a', 0, 3, fail('mine')), began(1, 1), { ...seen(2), what: 'gave-up', attempt: 1 }, ...call('a', 4, 9, told('v', 2)), began(5, 2)],
    ],
    ['what was not saved is no outcome', [...call('a', 0, 9, told('v', 1, { saved: false })), ...call('b', 10, 20, told('w', 2))]],
    [
      'other input, refused',
      [...call('a', 0, 9, told('v'), { op: 'run', input: 'x' }), ...call('b', 3, 5, fail('KEY_REUSED'), { op: 'run', input: 'y' })],
    ],
    [
      'two writes, and one read',
      [
        ...call('a', 0, 9, told('v')),
        ...row('a', 1, 'create'),
        ...row('a', 5, 'replace'),
        ...call('b', 10, 19, replayed('v')),
        ...row('b', 11, 'read'),
      ],
      { cost: { writes: 2, replay: 1 } },
    ],
  ])('finds nothing in %s', (_, events, rules) => {
    expect(judgePromises(events, rules).map(textOf)).toEqual([]);
  });

  it.each<[string, Event[], Rules?]>([
    ['I1 attempts 1 and 2 both completed', [...call('a', 0, 9, told('v')), ...call('b', 1, 9, told('v', 2))]],
    ['I2 its callers were told different things', [...call('a', 0, 9, told('v')), ...call('b', 1, 9, replayed('w'))]],
    ['I2 its callers were told different things', [...call('a', 0, 9, told('v')), ...call('b', 1, 9, fail('BLOCKED'))]],
    [
      'I3 a call that came after the outcome was told ran the work',
      [...call('a', 0, 9, told('v', 3)), ...call('b', 10, 19, replayed('v', 3)), began(12, 3, 'b')],
    ],
    ['I3 something was done after attempt 1, which completed', [...call('a', 0, 9, told('v')), effect(12, 2, 'b')]],
    ['I3 a call that came after the outcome was told completed anew', [...call('a', 0, 9, told('v')), ...call('b', 10, 19, told('v'))]],
    ['I6 it began again, though nobody was killed', [began(1, 1), began(5, 2, 'b')]],
    ['I6 it began again, though nobody was killed', [began(1, 1, 'a', 6), began(5, 2, 'b')]],
    ['I6 it began again, though nobody was killed', [began(1, 1), began(5, 2, 'b'), struck('a', 6)]],
    ['I6 attempt 1 after attempt 1', [began(1, 1), struck('a', 2), began(5, 1, 'b')]],
    ['I7 somebody else has it', [...call('a', 0, 9, fail('IN_FLIGHT')), ...call('b', 10, 19, told('v'))]],
    ['I8 it was told that an attempt before it had no outcome', [...call('a', 0, 9, fail('BLOCKED'))]],
    [
      'I9 calls with different inputs',
      [...call('a', 0, 9, told('v'), { op: 'run', input: 'x' }), ...call('b', 3, 12, replayed('v'), { op: 'run', input: 'y' })],
    ],
    [
      'I9 it was refused for another input',
      [...call('a', 0, 9, told('v'), { op: 'run', input: 'x' }), ...call('b', 3, 5, fail('KEY_REUSED'), { op: 'run', input: 'x' })],
    ],
    ['I10 a call did not end', [invokeOf('a', 0), struck('b', 5)]],
    [
      'I11 3 requests where 2 will do',
      [...call('a', 0, 9, told('v')), ...row('a', 1, 'create'), ...row('a', 3, 'replace'), ...row('a', 5, 'replace')],
      { cost: { writes: 2, replay: 1 } },
    ],
    [
      'I11 2 requests where 1 will do',
      [...call('b', 0, 9, replayed('v')), ...row('b', 1, 'create'), ...row('b', 3, 'read')],
      { cost: { writes: 2, replay: 1 } },
    ],
    ['I12 a timer was left behind', [{ ...seen(1), what: 'left-behind', thing: 'a timer' }]],
  ])('finds %s', (says, events, rules) => {
    expect(found(events, rules).filter((said) => said.startsWith(says))).not.toEqual([]);
  });

  it('shows the events', () => {
    const [violation] = judgePromises([...call('a', 0, 9, told('v')), ...call('b', 1, 9, replayed('w'))]);
    expect(violation?.shows).toHaveLength(2);
    expect(violation && textOf(violation)).toMatch(/^I2 k: its callers were told different things\n {4}\{.*"v".*\n {4}\{.*"w".*$/);
  });

  it('takes a moment for twenty thousand events', () => {
    const events = Array.from({ length: 2_500 }, (_, n) => [
      ...[...call('a', 0, 9, told('v')), began(1, 1), effect(2), ...call('b', 3, 5, fail('IN_FLIGHT')), ...call('b', 10, 11, replayed('v'))].map(
        (event): Event => ({ ...event, key: `k${n}`, ...(event.what === 'effect' ? { sent: `k${n}/s` } : {}) }) as Event,
      ),
    ]).flat();
    const startedAt = performance.now();
    expect(judgePromises(events)).toEqual([]);
    const tookMs = performance.now() - startedAt;
    console.log(`${events.length} events of 2500 keys: ${Math.round(tookMs)} ms`);
    expect(tookMs).toBeLessThan(5_000);
  });
});
