import { describe, expect, it } from 'vitest';
import { encode } from '../../src/core/codec.ts';
import { memoryStore, PermanentError, runOnce, tryRunOnce } from '../../src/index.ts';

describe('values and names that were once lost', () => {
  it('of a view only what it shows is kept: behind it may lie a pool with bytes of somebody else', () => {
    const pool = Buffer.from('secret of another request, seen by nobody');
    const encoding = encode([new Uint8Array(pool.buffer, pool.byteOffset, 6), new DataView(pool.buffer, pool.byteOffset, 6)]);
    expect(JSON.stringify(encoding).length).toBeLessThan(200);
  });

  it('a hole and a name in one array did not come back: counted, they looked like no hole and no name', async () => {
    const store = memoryStore();
    const odd = Object.assign(new Array(2), { 0: 1, total: 1 });
    const run = () => runOnce({ store, operation: 'test/odd', key: 1 }, () => odd);
    expect(await run()).toBe(odd);
    await expect(run()).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
  });

  it('a getter is not asked twice for what is kept', () => {
    let asked = 0;
    const moody = {
      get at() {
        asked += 1;
        return asked === 1 ? 1 : new Date(1);
      },
    };
    expect(encode(moody)).toEqual({ ok: false });
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('I8 a step may be named %s', async (name) => {
    const store = memoryStore();
    let calls = 0;
    const fulfil = (crash: boolean): Promise<string> =>
      runOnce({ store, operation: 'test/names', key: 1 }, async (run) => {
        const got = await run.step(name, () => `v${++calls}`);
        const other = await run.step('other', () => 'w');
        if (crash) throw new Error('crash');
        return got + other;
      });
    await expect(fulfil(true)).rejects.toThrow('crash');
    expect(await fulfil(false)).toBe('v1w');
    expect(calls).toBe(1);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('a code that JSON does not know comes back as none: %d', async (code) => {
    const store = memoryStore();
    const declined = (): never => {
      throw new PermanentError('declined', { code });
    };
    const run = () => tryRunOnce({ store, operation: 'test/codes', key: 1 }, declined);
    await run();
    expect(await run()).toMatchObject({ kind: 'failed', replayed: true, error: { code: undefined } });
  });
});
