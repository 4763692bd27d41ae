import { describe, expect, it } from 'vitest';
import type { FormedGuard } from '../../../src/core/guard.ts';
import type { Rule } from '../../../src/core/options.ts';
import type { RunResult } from '../../../src/core/replay.ts';
import { atOnce, formed, VALUE_RULES } from '../../../src/core/value-forms.ts';

const COMPLETED: RunResult<unknown> = { kind: 'completed', value: 5, replayed: true, saved: true, attempt: 2 };
const guard = (more: object = {}): FormedGuard<unknown> => ({ operation: 'o', ...more }) as never;
const schema = (validate: (value: unknown) => unknown) => ({ '~standard': { version: 1, validate } });
const thenable = (then: unknown): object => Object.fromEntries([['then', then]]);
const replayed = async (validate: (value: unknown) => unknown): Promise<unknown> => {
  try {
    return await formed(guard({ resultSchema: schema(validate) }), COMPLETED, false);
  } catch (error) {
    return error;
  }
};

describe('what is no schema', () => {
  it.each([[undefined], [null], [{}], [{ '~standard': { version: 2, validate() {} } }], [{ '~standard': { version: 1 } }], [{ '~standard': null }]])(
    '%o',
    (value) => {
      expect((VALUE_RULES.resultSchema as Rule)(value)).toBe('must be a validator of the Standard Schema interface, version 1');
    },
  );

  it('all else is one', () => {
    expect((VALUE_RULES.resultSchema as Rule)(schema(() => {}))).toBeUndefined();
  });
});

describe('a value that does not fit', () => {
  it('I3 is refused, with every place in it and what is wrong there', async () => {
    const issues = [{ message: 'is odd' }, { message: 'is missing', path: ['items', 0, { key: 'id' }] }, { message: 'is empty', path: [] }];
    expect(await replayed(() => ({ issues }))).toMatchObject({
      code: 'RESULT_NOT_STORED',
      message: 'o: the work was done, but its value does not fit resultSchema (is odd; .items.0.id: is missing; is empty). It is not run again.',
      cause: undefined,
      facts: { operation: 'o', reason: 'schema', issues: ['is odd', '.items.0.id: is missing', 'is empty'] },
    });
  });

  it.each([
    [() => Promise.reject(new TypeError('bug')), 'the schema failed: TypeError: bug'],
    [() => ({}), 'the schema failed: TypeError: it must answer { value } or { issues }'],
  ])('I3 a schema that fails is said with the cause', async (validate, issue) => {
    expect(await replayed(validate)).toMatchObject({
      code: 'RESULT_NOT_STORED',
      message: `o: the work was done, but its value does not fit resultSchema (${issue}). It is not run again.`,
      cause: expect.any(TypeError),
      facts: { issues: [issue] },
    });
  });

  it('of the first caller: served, and warned in the same words', async () => {
    const warnings: string[] = [];
    const listener = ({ code, message }: Error & { code?: string }): void => void (code === 'RERUNSAFE_RESULT_SCHEMA' && warnings.push(message));
    process.on('warning', listener);
    const first = { ...COMPLETED, replayed: false };
    expect(await formed(guard({ resultSchema: schema(() => ({ issues: [{ message: 'is odd' }] })) }), first, false)).toStrictEqual(first);
    await new Promise(setImmediate);
    process.off('warning', listener);
    expect(warnings).toEqual(['o: the work was done, but its value does not fit resultSchema (is odd). It is not run again.']);
  });
});

describe('the last thing before a result is handed out', () => {
  it('a result without a value is handed out as it is, and nobody is asked', async () => {
    let asked = 0;
    const ask = (): object => {
      asked += 1;
      return { value: 1 };
    };
    for (const result of [{ kind: 'failed', error: 1, replayed: true }, { kind: 'key-reused' }] as const) {
      expect(await formed(guard({ resultSchema: schema(ask), onReplay: ask }), result, false)).toBe(result);
    }
    expect(asked).toBe(0);
  });

  it('as it is, too, where there is nobody to ask: without waiting', () => {
    expect(formed(guard(), COMPLETED, false)).toBe(COMPLETED);
  });

  it('what the schema makes of it is what onReplay is given, with what is known of the replay', async () => {
    const seen: unknown[] = [];
    const onReplay = (value: unknown, replay: object): unknown => seen.push(value, replay) && 'shown';
    const resultSchema = schema(async (value) => ({ value: [value] }));
    expect(await formed(guard({ resultSchema, onReplay }), COMPLETED, true)).toStrictEqual({ ...COMPLETED, value: 'shown' });
    expect(seen).toStrictEqual([[5], { operation: 'o', attempt: 2, local: true }]);
    const first = { ...COMPLETED, replayed: false };
    expect(await formed(guard({ onReplay }), first, false)).toStrictEqual(first);
    expect(seen).toHaveLength(2);
  });
});

describe('what has to be answered at once', () => {
  it.each([[null], [undefined], [0], [thenable(5)], ['then']])('%j is', (answer) => {
    expect(atOnce(answer, 'x')).toBe(answer);
  });

  it.each([[Promise.resolve(1)], [thenable(() => {})]])('%o is not', (answer) => {
    expect(() => atOnce(answer, 'seal.close')).toThrow(new TypeError('seal.close must answer at once, not by a promise'));
  });
});
