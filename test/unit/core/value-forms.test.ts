import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { memoryStore, PermanentError, type RunOnceOptions, runOnce, tryRunOnce } from '../../../src/index.ts';

class Money {
  readonly cents: number;
  constructor(cents: number) {
    this.cents = cents;
  }
}
const codec = { encode: ({ cents }: Money) => cents, decode: (cents: unknown) => new Money(cents as number) };
const fresh = <T>(more: Partial<RunOnceOptions<T>> = {}): RunOnceOptions<T> => ({ store: memoryStore(), operation: 'test/op', key: 1, ...more });

describe('a codec of the user', () => {
  it('everybody gets what it makes of the value, the first caller too', async () => {
    const options = fresh({ codec: { encode: codec.encode, decode: (cents: unknown) => new Money((cents as number) + 1) } });
    expect(await runOnce(options, () => new Money(5))).toEqual(new Money(6));
    expect(await runOnce(options, () => new Money(0))).toEqual(new Money(6));
  });

  it('fails to encode: completed, the first caller is served, later ones are told, and the work is not run again', async () => {
    let runs = 0;
    const failing = {
      ...codec,
      encode: (): unknown => {
        throw new TypeError('no');
      },
    };
    const options = fresh({ codec: failing });
    expect(await runOnce(options, () => new Money(++runs))).toEqual(new Money(1));
    await expect(runOnce(options, () => new Money(++runs))).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
    expect(runs).toBe(1);
  });

  it('fails to decode what an earlier version kept: RESULT_NOT_STORED with its error, and the work is not run again', async () => {
    const store = memoryStore();
    const cause = new TypeError('unknown form');
    await runOnce(fresh({ store, codec }), () => new Money(5));
    const newer = {
      ...codec,
      decode: (): Money => {
        throw cause;
      },
    };
    await expect(runOnce(fresh({ store, codec: newer }), () => new Money(0))).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', cause });
    expect(await runOnce(fresh({ store, codec }), () => new Money(0))).toEqual(new Money(5));
  });

  it.each<[string, () => unknown]>([
    ['a promise', async () => new Money(1)],
    ['a promise that is rejected', () => Promise.reject(new Error('later'))],
    ['what has a then', () => Object.fromEntries([['then', () => {}]])],
  ])('I12 decodes to %s: the first caller is served, later ones are told, and nothing is left unhandled', async (_, decode) => {
    let runs = 0;
    const options = fresh({ codec: { ...codec, decode: decode as never } });
    expect(await tryRunOnce(options, () => new Money(++runs))).toMatchObject({ kind: 'completed', value: new Money(1) });
    for (const __ of [1, 2]) {
      const later = tryRunOnce(options, () => new Money(++runs));
      await expect(later).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'codec' }, cause: expect.any(TypeError) });
    }
    expect(runs).toBe(1);
  });

  it('a remembered error does not pass through it', async () => {
    const options = fresh({ codec });
    const declined = (): Money => {
      throw new PermanentError('declined');
    };
    await expect(runOnce(options, declined)).rejects.toThrow('declined');
    await expect(runOnce(options, declined)).rejects.toThrow('declined');
  });
});

describe('resultSchema', () => {
  const receipt = z.object({ id: z.string(), at: z.coerce.date() });

  it('what the schema makes of the value is what everybody gets', async () => {
    const options = fresh<z.infer<typeof receipt>>({ resultSchema: receipt });
    const work = () => ({ id: 'ch_1', at: '2026-03-01' as unknown as Date });
    const expected = { id: 'ch_1', at: new Date('2026-03-01') };
    expect(await runOnce(options, work)).toEqual(expected);
    expect(await runOnce(options, work)).toEqual(expected);
  });

  it.each([
    ['zod', z.object({ id: z.string() })],
    ['valibot', v.object({ id: v.string() })],
    ['arktype', type({ id: 'string' })],
  ])('takes the schemas of %s', async (_, resultSchema) => {
    const store = memoryStore();
    await runOnce(fresh<unknown>({ store }), () => ({ id: 'ch_1' }));
    expect(await runOnce(fresh<{ id: string }>({ store, resultSchema }), () => ({ id: 'ch_2' }))).toEqual({ id: 'ch_1' });
    await runOnce(fresh<unknown>({ store, key: 2 }), () => ({ id: 1 }));
    const other = runOnce(fresh<{ id: string }>({ store, key: 2, resultSchema }), () => ({ id: 'ch_2' }));
    await expect(other).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
  });

  it('a stored value that does not fit is RESULT_NOT_STORED, and the work is not run again', async () => {
    const store = memoryStore();
    await runOnce(fresh<unknown>({ store }), () => ({ charge: 'ch_1' }));
    let runs = 0;
    const replay = runOnce(fresh<z.infer<typeof receipt>>({ store, resultSchema: receipt }), () => ({ id: `ch_${++runs}`, at: new Date() }));
    await expect(replay).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'schema', issues: expect.any(Array) } });
    expect(runs).toBe(0);
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new TypeError('schema bug');
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('schema bug'))],
    ['answers nothing', () => undefined],
    ['answers nothing, later', async () => undefined],
    ['answers neither a value nor issues', () => ({})],
    ['answers issues that are none', () => ({ issues: 'all wrong' })],
    ['answers an issue that is none', () => ({ issues: [null] })],
  ])('I3 a schema that %s: the first caller is served, later ones are told with the cause, the work runs once', async (_, validate) => {
    const warned: unknown[] = [];
    const onWarning = ({ code }: Error & { code?: string }): void => void warned.push(code);
    process.on('warning', onWarning);
    let runs = 0;
    const options = fresh<number>({ resultSchema: { '~standard': { version: 1, validate: validate as never } } });
    expect(await tryRunOnce(options, () => ++runs)).toMatchObject({ kind: 'completed', value: 1, saved: true });
    const later = runOnce(options, () => ++runs);
    await expect(later).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'schema' }, cause: expect.any(TypeError) });
    await new Promise(setImmediate);
    process.off('warning', onWarning);
    expect(warned.filter((code) => code === 'RERUNSAFE_RESULT_SCHEMA')).toHaveLength(1);
    expect(runs).toBe(1);
  });

  it('a value of the work itself that does not fit is handed out all the same: it is done', async () => {
    const options = fresh<z.infer<typeof receipt>>({ resultSchema: receipt });
    const odd = { charge: 'ch_1' } as never;
    expect(await tryRunOnce(options, () => odd)).toMatchObject({ kind: 'completed', value: odd, saved: true });
  });
});

describe('onReplay', () => {
  it('is asked on each replay, and what it returns is handed out; the first caller is not asked', async () => {
    const seen: unknown[] = [];
    const options = fresh<number>({
      onReplay: async (value, replay) => {
        seen.push([value, replay]);
        return value * 10;
      },
    });
    expect(await runOnce(options, () => 1)).toBe(1);
    expect(await runOnce(options, () => 2)).toBe(10);
    expect(await runOnce({ ...options, localReplay: { maxEntries: 5 } }, () => 2)).toBe(10);
    expect(await runOnce({ ...options, localReplay: { maxEntries: 5 } }, () => 2)).toBe(10);
    expect(seen).toEqual([false, false, true].map((isLocal) => [1, { operation: 'test/op', attempt: 1, local: isLocal }]));
  });

  it('what it throws goes to the caller, and the record stands', async () => {
    const thrown = new Error('not allowed any more');
    const options = fresh<number>({
      onReplay: () => {
        throw thrown;
      },
    });
    await runOnce(options, () => 1);
    await expect(runOnce(options, () => 2)).rejects.toBe(thrown);
    const { onReplay: _, ...plain } = options;
    expect(await runOnce(plain, () => 2)).toBe(1);
  });
});

describe('nonsense', () => {
  it.each([[{ codec: {} }], [{ codec: { encode: () => 1 } }], [{ resultSchema: { parse: () => 1 } }], [{ onReplay: 'log' }]])(
    '%o is refused, and nothing is run',
    async (wrong) => {
      let runs = 0;
      await expect(runOnce(fresh<number>(wrong as never), () => ++runs)).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
      expect(runs).toBe(0);
    },
  );
});
