import { describe, expect, it } from 'vitest';
import { isRetention } from '../../../src/core/retention.ts';
import { PermanentError } from '../../../src/index.ts';
import { bench } from './engine.ts';

const retentionMs = { completed: 100_000, error: 20_000, released: 5_000 };

describe('retention for each way a run can end', () => {
  it('a value is kept for one time, a remembered error for another', async () => {
    const b = bench({ retentionMs });
    const declined = () => {
      throw new PermanentError('declined');
    };
    await b.run(() => 1, { key: 'value' });
    await b.run(declined, { key: 'error' });
    await b.clock.advance(20_001);
    expect(await b.run(() => 2, { key: 'value' })).toMatchObject({ value: 1, replayed: true });
    expect(await b.run(() => 2, { key: 'error' })).toMatchObject({ value: 2, attempt: 1 });
    await b.clock.advance(80_001);
    expect(await b.run(() => 2, { key: 'value' })).toMatchObject({ value: 2, attempt: 1 });
  });

  it('the attempts and the input of a failed run are forgotten after a third', async () => {
    const b = bench({ retentionMs });
    const fail = () => {
      throw new Error('no');
    };
    await expect(b.run(fail, { input: 'a' })).rejects.toThrow('no');
    expect(await b.run(() => 1, { input: 'b' })).toMatchObject({ kind: 'key-reused' });
    await b.clock.advance(5_001);
    expect(await b.run(() => 1, { input: 'b' })).toMatchObject({ value: 1, attempt: 1 });
  });

  it('what is not given is as for a value', async () => {
    const b = bench({ retentionMs: { completed: 5_000 } });
    await b.run(() => {
      throw new PermanentError('declined');
    });
    await b.clock.advance(4_000);
    expect(await b.run(() => 1)).toMatchObject({ kind: 'failed', replayed: true });
    await b.clock.advance(1_001);
    expect(await b.run(() => 1)).toMatchObject({ value: 1 });
  });

  it('what is refused is refused in words', () => {
    expect(isRetention({ error: 5 })).toBe(
      'must be a whole number, at least 1, or must be { completed, error, released }, whole numbers of ms above 0, completed always',
    );
    expect([isRetention(1), isRetention({ completed: 1, error: 1, released: 1 })]).toEqual([undefined, undefined]);
  });

  it.each([[{}], [{ error: 5 }], [{ completed: 0 }], [{ completed: 5_000, failed: 5 }], ['a day'], [{ completed: 5_000, error: 500 }]])(
    '%j is refused, and nothing is run',
    async (wrong) => {
      const running = async (): Promise<unknown> => bench({ retentionMs: wrong as never }).run(() => 1);
      await expect(running()).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    },
  );
});
