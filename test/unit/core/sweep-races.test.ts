import { describe, expect, it } from 'vitest';
import { recordId } from '../../../src/core/key.ts';
import { type SweepAnswer, sweep } from '../../../src/index.ts';
import { bench } from './engine.ts';

const ID = recordId('test/op', [], ['k']);
const ANSWERS = ['not-done', 'block', { done: 'an old answer' }] as const;
const timeOut = (): never => {
  throw new Error('time-out, perhaps charged');
};

/** A run that ended with no outcome, and is old enough to be shown. */
async function lapsed() {
  const b = bench({ onUnknown: () => 'not-done' });
  await b.run(timeOut).catch(() => {});
  await b.clock.advance(10);
  return b;
}

type Bench = Awaited<ReturnType<typeof lapsed>>;

const look = async (b: Bench, answer: () => SweepAnswer | Promise<SweepAnswer>) => sweep({ store: b.store, olderThanMs: 0 }, answer);
const revisionOf = async (b: Bench) => (await b.store.read(ID))?.record.revision;

/** What may become of a run while somebody thinks about it; each ends as the sweep would find it, lapsed or blocked. */
const MEANWHILE: readonly [string, (b: Bench) => Promise<unknown>][] = [
  ['a caller took over, and nobody knows how that ended', (b) => b.run(timeOut).catch(() => {})],
  [
    'another sweep let it run again, and nobody knows how that ended',
    async (b) => {
      await look(b, () => 'not-done');
      await b.run(timeOut).catch(() => {});
    },
  ],
  ['a caller blocked it', (b) => b.run(() => 'never', { onUnknown: 'block' })],
];

describe('what a sweep says is about what it has looked at', () => {
  describe.each(MEANWHILE)('I4 while it was thinking, %s', (_, between) => {
    it.each(ANSWERS)('answer %j: nothing is written', async (answer) => {
      const b = await lapsed();
      let left: string | undefined;
      const result = await look(b, async () => {
        await between(b);
        left = await revisionOf(b);
        return answer;
      });
      expect(result).toMatchObject({ lapsed: 1, settled: 0, failures: [] });
      expect(await revisionOf(b)).toBe(left);
    });

    it.each(ANSWERS)('answer %j, when it happens as the answer is being written: nothing is written', async (answer) => {
      const b = await lapsed();
      let left: string | undefined;
      let armed = false;
      b.plan.before = async (operation) => {
        if (operation !== 'replace' || !armed) return;
        armed = false;
        await between(b);
        left = await revisionOf(b);
      };
      const result = await look(b, () => {
        armed = true;
        return answer;
      });
      expect(left).toBeDefined();
      expect(result).toMatchObject({ lapsed: 1, settled: 0, failures: [] });
      expect(await revisionOf(b)).toBe(left);
    });
  });

  it('I4 of two sweeps that show the same run, one answer counts', async () => {
    const b = await lapsed();
    const inner: { settled?: number } = {};
    const outer = await look(b, async () => {
      inner.settled = (await look(b, () => ({ done: 'first' }))).settled;
      return { done: 'second' } as const;
    });
    expect([inner.settled, outer.settled]).toEqual([1, 0]);
    expect(await b.run((): unknown => 'ran')).toMatchObject({ value: 'first', replayed: true });
  });

  it('I4 a blocked run that a person let go, and that was blocked again, is not settled by what was found out of the first', async () => {
    const b = await lapsed();
    await look(b, () => 'block');
    await b.clock.advance(10);
    const result = await look(b, async () => {
      await look(b, () => 'not-done');
      await b.run(timeOut, { onUnknown: 'block' }).catch(() => {});
      await b.run(() => 'never', { onUnknown: 'block' });
      return 'not-done' as const;
    });
    expect(result).toMatchObject({ blocked: 1, settled: 0, failures: [] });
    expect(await b.run(() => 'never')).toMatchObject({ kind: 'blocked' });
  });

  describe.each(ANSWERS)('I7 the answer %j', (answer) => {
    it.each(['lost-answer', 'retried-lost-answer'] as const)('is settled when it was written: %s', async (fault) => {
      const b = await lapsed();
      b.plan.replace = { [b.store.counts.replace + 1]: fault };
      expect(await look(b, () => answer)).toMatchObject({ settled: 1, failures: [] });
    });

    it.each(['lost-request', { landsAfterMs: 50 }] as const)('is told to be in doubt when it may still be written: %j', async (fault) => {
      const b = await lapsed();
      b.plan.replace = { [b.store.counts.replace + 1]: fault };
      expect(await look(b, () => answer)).toMatchObject({ settled: 0, failures: [{ id: ID, error: { code: 'WRITE_UNKNOWN' } }] });
    });
  });
});
