import { describe, expect, it } from 'vitest';
import { PermanentError } from '../../../src/core/errors.ts';
import type { FormedGuard } from '../../../src/core/guard.ts';
import type { Outcome, Whole } from '../../../src/core/record.ts';
import { mustBeNotStored, replayOf, withCodec } from '../../../src/core/replay.ts';

const guard = (more: object = {}): FormedGuard<unknown> => ({ operation: 'o', ...more }) as never;
const value = (json: unknown): Whole => ({ kind: 'value', value: { json } });
const refusal = (body: () => unknown): unknown => {
  try {
    return body();
  } catch (error) {
    return error;
  }
};
const throws = (cause: unknown) => (): never => {
  throw cause;
};

describe('an outcome that was kept, as callers see it', () => {
  it('I2 a value, and a person’s word for one', () => {
    expect(replayOf(guard(), 'r1_x', value({ a: 1 }), 2)).toStrictEqual({
      kind: 'completed',
      value: { a: 1 },
      replayed: true,
      saved: true,
      attempt: 2,
    });
    expect(replayOf(guard(), 'r1_x', { kind: 'value', value: { json: 1 }, resolved: true }, 2)).toStrictEqual({
      kind: 'completed',
      value: 1,
      replayed: true,
      saved: true,
      attempt: 2,
      resolved: true,
    });
  });

  it('I2 a remembered error, with all that it carried and no more', () => {
    const full = replayOf(guard(), 'r1_x', { kind: 'error', error: { name: 'Declined', message: 'm', code: 7, data: { json: { a: 1 } } } }, 1);
    expect(full).toMatchObject({ kind: 'failed', replayed: true, error: { name: 'Declined', message: 'm', code: 7, data: { a: 1 } } });
    expect((full as { error: unknown }).error).toBeInstanceOf(PermanentError);
    const bare = replayOf(guard(), 'r1_x', { kind: 'error', error: { name: 'Declined', message: 'm' } }, 1);
    expect(bare).toMatchObject({ error: { name: 'Declined', message: 'm', code: undefined, data: undefined } });
  });

  it.each([
    ['too-large', 'it is larger than the store takes: return a reference to it'],
    ['not-serializable', 'it would not come back as it is: return plain data, no functions, promises or class instances'],
    ['not-taken', 'the store did not take it'],
    ['of a later version', 'of a later version'],
  ])('I3 one whose value could not be kept is refused, and says why: %s', (reason, because) => {
    expect(refusal(() => replayOf(guard(), 'r1_x', { kind: 'not-stored', reason } as never, 1))).toMatchObject({
      code: 'RESULT_NOT_STORED',
      message: `o: the work was done, but its value could not be kept (${because}). It is not run again.`,
      facts: { operation: 'o', id: 'r1_x', reason },
    });
  });

  it('I3 one of a kind that only a later version knows is refused as such', () => {
    expect(refusal(() => replayOf(guard(), 'r1_x', { kind: 'streamed' } as never, 1))).toMatchObject({
      code: 'RECORD_TOO_NEW',
      message: expect.stringContaining('holds an outcome of a kind that this version does not know (streamed)'),
      facts: { kind: 'streamed' },
    });
    expect(mustBeNotStored({ kind: 'not-stored', reason: 'too-large' } as Extract<Outcome, { kind: 'not-stored' }>)).toBeUndefined();
  });
});

describe('a codec', () => {
  const codec = { encode: (n: unknown) => n, decode: (n: unknown) => [n] };

  it('I2 makes the value of a replay; the first caller gets the same', () => {
    expect(replayOf(guard({ codec }), 'r1_x', value(1), 1)).toMatchObject({ value: [1] });
    expect(withCodec(codec, { json: 1 }, 1)).toEqual([1]);
    expect(withCodec(undefined, { json: 1 }, 'as it was')).toBe('as it was');
  });

  it('I3 that fails: the first caller is served, later ones are told with the cause', () => {
    const cause = new TypeError('unknown form');
    const failing = { ...codec, decode: throws(cause) };
    expect(withCodec(failing, { json: 1 }, 'as it was')).toBe('as it was');
    expect(refusal(() => replayOf(guard({ codec: failing }), 'r1_x', value(1), 1))).toMatchObject({
      code: 'RESULT_NOT_STORED',
      message: 'o: the work was done, but the codec cannot decode its value. It is not run again.',
      cause,
      facts: { operation: 'o', reason: 'codec' },
    });
  });

  it('I12 that answers later than at once is named', () => {
    const later = { ...codec, decode: async () => 1 };
    expect(withCodec(later as never, { json: 1 }, 'as it was')).toBe('as it was');
    const error = refusal(() => replayOf(guard({ codec: later }), 'r1_x', value(1), 1)) as { cause: Error };
    expect(error.cause.message).toBe('codec.decode must answer at once, not by a promise');
  });
});
