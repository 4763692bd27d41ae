import { describe, expect, it } from 'vitest';
import { NotDoneError } from '../../../src/core/errors.ts';
import type { MoveResult } from '../../../src/core/move.ts';
import { isFull, Thrown } from '../../../src/core/step.ts';
import { LOST, type StepStage, stepStage as stage, TOO_LARGE, WRITTEN } from './step-stage.ts';

const VALUE = { outcome: { kind: 'value', value: { json: 'value' } } } as const;

describe('a step that was not begun before', () => {
  it('I2 is run, and its value kept, with the fingerprint of its input where it has one', async () => {
    const plain = stage();
    expect(await plain.run()).toBe('value');
    expect(plain.asked).toStrictEqual([['ship', VALUE]]);
    const declared = stage();
    await declared.run({ fingerprint: 'v1:a' });
    expect(declared.asked).toStrictEqual([['ship', { ...VALUE, fingerprint: 'v1:a' }]]);
    expect([plain.notKept, declared.notKept]).toEqual([[], []]);
  });

  it('at most once: its mark stands before it is run', async () => {
    const at = stage();
    await at.run({ atMostOnce: true }, () => expect(at.asked).toStrictEqual([['ship', { begun: 3 }]]));
    expect(at.runs()).toBe(1);
    const declared = stage();
    await declared.run({ atMostOnce: true, fingerprint: 'v1:a' });
    expect(declared.asked[0]).toStrictEqual(['ship', { begun: 3, fingerprint: 'v1:a' }]);
  });

  it('may be named as a property that every object has', async () => {
    const at = stage();
    expect(await at.run({ name: 'toString' })).toBe('value');
    expect(at.runs()).toBe(1);
  });

  it('I4 I6 is not run on a lease that is over, before its mark or after it', async () => {
    const before = stage({ held: [false] });
    expect(await before.run()).toBe(LOST);
    expect([before.runs(), before.asked]).toEqual([0, []]);
    const after = stage({ held: [true, false] });
    expect(await after.run({ atMostOnce: true })).toBe(LOST);
    expect([after.runs(), after.asked.length]).toEqual([0, 1]);
  });

  it.each<[MoveResult, object]>([
    [
      TOO_LARGE,
      {
        code: 'RESULT_NOT_STORED',
        message: 'There is no room left in the record to note anything of the step "ship". It was not begun.',
        facts: { step: 'ship', reason: 'too-large' },
      },
    ],
    [
      { kind: 'no-answer', error: LOST },
      {
        code: 'WRITE_UNKNOWN',
        message: 'The step "ship" was not begun: nobody knows whether its mark was kept.',
        facts: { step: 'ship' },
        cause: LOST,
      },
    ],
    [{ kind: 'lost' }, LOST],
  ])('I8 is not run where its mark was not kept: %j', async (answer, error) => {
    const at = stage({ answers: [answer] });
    expect(await at.run({ atMostOnce: true })).toMatchObject(error);
    expect(at.runs()).toBe(0);
    expect(isFull(at.owner)).toBe(answer === TOO_LARGE);
  });
});

describe('what a step throws', () => {
  const failure = new Error('failed');
  const nothing = new NotDoneError('nothing');
  const throws = (error: unknown) => (): never => {
    throw error;
  };

  it('is told from what the step says itself', async () => {
    const at = stage();
    expect(await at.run({}, throws(failure))).toStrictEqual(new Thrown(failure));
    expect(at.asked).toEqual([]);
  });

  it('I6 takes back its mark where it says that nothing has happened, and only then', async () => {
    const said = stage();
    expect(await said.run({ atMostOnce: true }, throws(nothing))).toMatchObject({ error: nothing });
    expect(said.asked).toStrictEqual([
      ['ship', { begun: 3 }],
      ['ship', undefined],
    ]);
    for (const [more, error] of [
      [{ atMostOnce: true }, failure],
      [{}, nothing],
    ] as const) {
      const at = stage();
      await at.run(more, throws(error));
      expect(at.asked.filter(([, step]) => step === undefined)).toEqual([]);
    }
  });

  it('is what the caller gets, also where the mark could not be taken back', async () => {
    const at = stage({ answers: [WRITTEN, { kind: 'no-answer', error: new Error('away') }] });
    expect(await at.run({ atMostOnce: true }, throws(nothing))).toStrictEqual(new Thrown(nothing));
  });
});

describe('a step that an earlier attempt has finished', () => {
  it('I2 is not run again', async () => {
    const at = stage({ kept: { ship: VALUE } });
    expect(await at.run()).toBe('value');
    expect([at.runs(), at.asked]).toEqual([0, []]);
  });

  it('I3 and whose value was not kept is not run again either', async () => {
    const at = stage({ kept: { ship: { outcome: { kind: 'not-stored', reason: 'not-serializable' } } } });
    expect(await at.run()).toMatchObject({
      code: 'RESULT_NOT_STORED',
      message: 'The step "ship" was done, but its value could not be kept (not-serializable). It is not run again.',
      facts: { step: 'ship', reason: 'not-serializable' },
    });
    expect(at.runs()).toBe(0);
  });

  it('I3 of a kind that only a later version knows: said as such', async () => {
    const at = stage({ kept: { ship: { outcome: { kind: 'streamed' } } } });
    expect(await at.run()).toMatchObject({ code: 'RECORD_TOO_NEW' });
  });

  it('I9 with another input is refused', async () => {
    for (const step of [
      { ...VALUE, fingerprint: 'v1:a' },
      { begun: 1, fingerprint: 'v1:a' },
    ]) {
      const at = stage({ kept: { ship: step } });
      expect(await at.run({ fingerprint: 'v1:b' })).toMatchObject({
        code: 'STEP_CHANGED',
        message: 'The step "ship" was begun before with another input. Nothing of it was run.',
        facts: { step: 'ship' },
      });
      expect(at.runs()).toBe(0);
    }
  });
});

describe('a step that an earlier attempt has begun', () => {
  const kept = { ship: { begun: 1 } };

  it.each([[undefined], [() => 'block' as const]])('I8 is not run again before a person has said so', async (onInterrupted) => {
    const at = stage({ kept });
    expect(await at.run({ onInterrupted })).toMatchObject({
      code: 'BLOCKED',
      message:
        'The step "ship" was begun by an earlier attempt, and nobody knows what it did. It is not run again before a person has said so (resolveRun).',
      facts: { step: 'ship' },
    });
    expect([at.runs(), at.asked]).toEqual([0, []]);
  });

  it('is what it is said to have come to; an undefined value is one', async () => {
    const at = stage({ kept });
    expect(await at.run({ onInterrupted: async () => ({ done: 'found' }) })).toBe('found');
    expect([at.runs(), at.asked]).toStrictEqual([0, [['ship', { outcome: { kind: 'value', value: { json: 'found' } } }]]]);
    expect(await stage({ kept }).run({ onInterrupted: () => ({ done: undefined }) })).toBeUndefined();
  });

  it('is run where it is said that nothing was done, without another mark, and only while the lease is held', async () => {
    const at = stage({ kept });
    expect(await at.run({ atMostOnce: true, onInterrupted: () => 'not-done' })).toBe('value');
    expect([at.runs(), at.asked]).toStrictEqual([1, [['ship', VALUE]]]);
    const late = stage({ kept, held: [true, false] });
    expect(await late.run({ onInterrupted: () => 'not-done' })).toBe(LOST);
    expect(late.runs()).toBe(0);
  });

  it.each([['perhaps'], [undefined], [null], [{}], [{ value: 1 }], [7]])('%j is no answer', async (answer) => {
    const at = stage({ kept });
    expect(await at.run({ onInterrupted: () => answer as never })).toMatchObject({
      code: 'INVALID_OPTIONS',
      message: "run.step \"ship\": onInterrupted must answer { done: value }, 'not-done' or 'block'.",
    });
    expect(at.runs()).toBe(0);
  });

  it('what is thrown by who is asked goes to the caller', async () => {
    const failure = new Error('provider is away');
    const at = stage({ kept });
    expect(await at.run({ onInterrupted: () => Promise.reject(failure) })).toStrictEqual(new Thrown(failure));
    expect(at.runs()).toBe(0);
  });
});

describe('a value that cannot be kept', () => {
  const NOTE = (reason: string) => ({ outcome: { kind: 'not-stored', reason } });
  const odd = (): void => {};

  it('I3 is noted, told, and given to the work all the same', async () => {
    const at = stage();
    expect(await at.run({}, () => odd)).toBe(odd);
    expect([at.asked, at.notKept]).toStrictEqual([[['ship', NOTE('not-serializable')]], [['not-serializable', odd]]]);
    const large = stage({ answers: [TOO_LARGE] });
    expect(await large.run({ fingerprint: 'v1:a' })).toBe('value');
    expect(large.asked).toStrictEqual([
      ['ship', { ...VALUE, fingerprint: 'v1:a' }],
      ['ship', { ...NOTE('too-large'), fingerprint: 'v1:a' }],
    ]);
    expect(large.notKept).toStrictEqual([['too-large', 'value']]);
    expect(isFull(large.owner)).toBe(false);
  });

  it('I3 nor noted: nothing more is begun', async () => {
    const at = stage({ answers: [TOO_LARGE, TOO_LARGE] });
    expect(await at.run()).toMatchObject({
      code: 'RESULT_NOT_STORED',
      message: 'The step "ship" was done, but its value could not be kept (too-large). It is not run again.',
    });
    expect([at.notKept, isFull(at.owner)]).toStrictEqual([[['too-large', 'value']], true]);
    expect(await at.run()).toMatchObject({ message: 'There is no room left in the record to note anything of the step "ship". It was not begun.' });
    expect(at.runs()).toBe(1);
  });
});

describe('a value of which nobody knows whether it was kept', () => {
  it('I8 is doubt', async () => {
    const error = new Error('away');
    const at = stage({ answers: [{ kind: 'no-answer', error }] });
    expect(await at.run()).toMatchObject({
      code: 'WRITE_UNKNOWN',
      message: 'The step "ship" was done, but nobody knows whether its value was kept.',
      cause: error,
      facts: { step: 'ship' },
    });
    expect(at.notKept).toEqual([]);
  });

  async function warned(body: () => Promise<unknown>): Promise<string[]> {
    const warnings: string[] = [];
    const listener = ({ code, message }: Error & { code?: string }): void => void (code === 'RERUNSAFE_STEP_NOT_AWAITED' && warnings.push(message));
    process.on('warning', listener);
    await body();
    await new Promise(setImmediate);
    process.off('warning', listener);
    return warnings;
  }

  it('I4 was not kept where the lease is lost; where only the run has ended, nobody awaited it, and that is warned about', async () => {
    const message = 'The step "ship" was still going on when its run ended, so its value was not kept. Was it awaited?';
    const table: [StepStage, object, string[]][] = [
      [{ over: true }, { code: 'LEASE_LOST', message, facts: { step: 'ship' } }, [message]],
      [{ over: true, lost: true }, LOST, []],
      [{ lost: true }, LOST, []],
      [{}, LOST, []],
    ];
    for (const [given, error, warnings] of table) {
      const at = stage({ ...given, answers: [{ kind: 'lost' }] });
      expect(await warned(async () => expect(await at.run()).toMatchObject(error))).toEqual(warnings);
    }
  });
});
