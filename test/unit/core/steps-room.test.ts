import { describe, expect, it } from 'vitest';
import { leaveRoom } from '../../../src/core/changes.ts';
import type { MoveResult } from '../../../src/core/move.ts';
import type { RecordToWrite, StoredStep } from '../../../src/core/record.ts';
import { Serial } from '../../../src/core/serial.ts';
import { type StepChanges, StepWrites } from '../../../src/core/step-writes.ts';
import { forgetRun, NotDoneError, type Run, resolveRun } from '../../../src/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { bench, inTime } from './engine.ts';

const MAX = 20_000;
const of = (b: ReturnType<typeof bench>) => ({ store: b.store, operation: 'test/op', key: 'k' });
async function standing(b: ReturnType<typeof bench>): Promise<RecordToWrite> {
  for await (const { record } of b.store.list({})) return record;
  throw new Error('no record');
}

const count = (calls: number[], n: number): void => {
  calls[n] = (calls[n] ?? 0) + 1;
};
/** Steps of 300 bytes each, one after another, until one is refused. */
const manySteps = (calls: number[]) => async (run: Run) => {
  for (let n = 0; n < 200; n++) {
    const work = () => {
      count(calls, n);
      return incompressible(300);
    };
    await run.step('mail', work, { key: n });
  }
};
/** All of them at once. */
const parallelSteps = (calls: number[]) => (run: Run) =>
  Promise.all(Array.from({ length: 400 }, (_, n) => run.step('mail', async () => count(calls, n), { key: n })));

describe('a record that has no room for another step', () => {
  it.each<[string, (calls: number[]) => (run: Run) => Promise<unknown>]>([
    ['one after another', manySteps],
    ['all at once', parallelSteps],
  ])('I3 blocks the run, and no work of a step runs twice: %s', async (_, steps) => {
    const b = bench({}, { maxRecordBytes: MAX });
    const calls: number[] = [];
    await expect(b.run(steps(calls))).rejects.toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'too-large' } });
    const begun = calls.length;
    for (const __ of [1, 2, 3]) expect(await b.run(steps(calls))).toMatchObject({ kind: 'blocked', why: 'step-not-stored' });
    expect(calls).toEqual(Array.from({ length: begun }, () => 1));
  });

  it('I3 blocks the run, too, where the work throws something of its own instead', async () => {
    const b = bench({}, { maxRecordBytes: MAX });
    const calls: number[] = [];
    const own = new Error('mailing failed');
    const work = (run: Run) =>
      manySteps(calls)(run).catch(() => {
        throw own;
      });
    await expect(b.run(work)).rejects.toBe(own);
    const begun = calls.length;
    expect(await b.run(work)).toMatchObject({ kind: 'blocked', why: 'step-not-stored' });
    expect(calls).toEqual(Array.from({ length: begun }, () => 1));
  });

  it('the caller gets what the work has thrown, also where the run cannot be blocked', async () => {
    const b = bench({}, { maxRecordBytes: MAX });
    const own = new Error('mailing failed');
    const run = b.run(async (attempt) => {
      await manySteps([])(attempt).catch(() => {});
      b.plan.replace = () => 'lost-request';
      throw own;
    });
    await expect(inTime(b.clock, run)).rejects.toBe(own);
  });

  it('I3 once a note did not fit, no further step starts its work, also where the work goes on', async () => {
    const b = bench({}, { maxRecordBytes: MAX });
    const later: string[] = [];
    const told: unknown[] = [];
    const work = async (run: Run) => {
      await manySteps([])(run).catch((error: unknown) => told.push(error));
      for (const name of ['a', 'b']) await run.step(name, () => later.push(name)).catch((error: unknown) => told.push(error));
      await run.step('c', () => later.push('c'), { mode: 'atMostOnce' }).catch((error: unknown) => told.push(error));
      return 'done without them';
    };
    expect(await b.run(work)).toMatchObject({ kind: 'completed', value: 'done without them' });
    expect(told).toHaveLength(4);
    for (const error of told) expect(error).toMatchObject({ code: 'RESULT_NOT_STORED', facts: { reason: 'too-large' } });
    expect(later).toEqual([]);
  });

  it.each([
    ['released', new NotDoneError('nothing'), 'released'],
    ['left unknown', new Error('time-out'), 'running'],
  ])('I6 can still be %s, blocked, resolved and forgotten, with all that a person has to say', async (_, thrown, state) => {
    const b = bench({ onUnknown: 'block' }, { maxRecordBytes: 390 * 1_024 });
    /** The first 52 just leave the reserve. */
    const fill = async (run: Run, steps: number) => {
      for (let n = 0; n < steps; n++) await run.step('s', () => incompressible(n < 32 ? 12_000 : 10), { key: n });
    };
    const full = async (run: Run) => {
      await fill(run, 52);
      throw thrown;
    };
    await expect(b.run(full)).rejects.toBe(thrown);
    expect((await standing(b)).state).toBe(state);
    expect(Buffer.byteLength(JSON.stringify(await standing(b)))).toBeGreaterThan(380 * 1_024);
    expect(await b.run((run) => fill(run, 4_000)).catch((error: unknown) => error)).toMatchObject(
      state === 'running' ? { kind: 'blocked' } : { code: 'RESULT_NOT_STORED' },
    );
    expect((await standing(b)).state).toBe('blocked');
    const word = { by: '\u20ac'.repeat(200), why: '\u20ac'.repeat(1_000) };
    expect(await resolveRun({ ...of(b), ...word, force: true }, 'not-done')).toEqual({ kind: 'written' });
    expect(await standing(b)).toMatchObject({ state: 'released', word });
    expect(await forgetRun({ ...of(b), force: true })).toMatchObject({ kind: expect.stringMatching(/written|not-needed/) });
  });
});

describe('the room that steps leave', () => {
  const base: RecordToWrite = {
    schema: 1,
    operation: 'op',
    scope: '',
    state: 'running',
    owner: 'o',
    revision: 'r',
    token: 1,
    attempt: 1,
    leaseMs: 1,
    retentionMs: 1,
    createdAtMs: 1,
  };
  const value = (bytes: number): StoredStep => ({ outcome: { kind: 'value', value: 'x'.repeat(bytes) } });
  const note: StoredStep = { outcome: { kind: 'not-stored', reason: 'too-large' } };
  const fits = (max: number, steps: Record<string, StoredStep>, ...changes: [string, StoredStep | undefined][]) =>
    leaveRoom({ ...base, steps }, new Map(changes), { maxRecordBytes: max });

  it('is 8 KB after a value, 6 KB after a note or a mark, an eighth of a small record; what makes it no larger is never refused', () => {
    expect(fits(100_000, {}, ['a', value(91_000)])).toBe(true);
    expect(fits(100_000, {}, ['a', value(92_000)])).toBe(false);
    for (const small of [note, { begun: 1 }]) expect(fits(100_000, { a: value(92_000) }, ['b', small])).toBe(true);
    expect(fits(100_000, { a: value(92_000) }, ['b', note], ['c', value(1)])).toBe(false);
    expect(fits(100_000, { a: value(94_000) }, ['b', note])).toBe(false);
    expect(fits(1_000, {}, ['a', value(500)])).toBe(true);
    expect(fits(1_000, {}, ['a', value(800)])).toBe(false);
    expect(fits(1_000, { a: value(2_000), b: { begun: 1 } }, ['b', undefined])).toBe(true);
    expect(fits(1_000, { a: value(2_000) }, ['a', note])).toBe(true);
  });

  it('counts bytes, not characters', () => {
    const euros: StoredStep = { outcome: { kind: 'value', value: '\u20ac'.repeat(40_000) } };
    expect(fits(100_000, {}, ['a', euros])).toBe(false);
  });
});

describe('a shared write that is too large', () => {
  const note: StoredStep = { outcome: { kind: 'not-stored', reason: 'too-large' } };
  const written = { kind: 'written', sentAt: 0 } as unknown as MoveResult;

  /** A store that takes so many steps. */
  function counting(takes: number) {
    const kept: string[] = [];
    const order: string[] = [];
    const serial = new Serial();
    const write = async (changes: StepChanges): Promise<MoveResult> => {
      order.push('write');
      if (kept.length + changes.size > takes) return { kind: 'too-large' };
      kept.push(...changes.keys());
      return written;
    };
    return { kept, order, serial, writes: new StepWrites(serial, write) };
  }

  it('is halved, and what cannot fit is not tried one by one', async () => {
    const { kept, order, writes } = counting(1_000);
    const results = await Promise.all(Array.from({ length: 3_000 }, (_, n) => writes.keep(`step ${1_000 + n}`, note)));
    expect(results.filter(({ kind }) => kind === 'written')).toHaveLength(1_000);
    expect(new Set(kept).size).toBe(1_000);
    expect(order.length).toBeLessThan(60);
  });

  it('I4 lets a renewal that waits through between its halves', async () => {
    const { order, serial, writes } = counting(1_000);
    const steps = Promise.all(Array.from({ length: 2_000 }, (_, n) => writes.keep(`step ${1_000 + n}`, note)));
    await Promise.resolve();
    await serial.run(async () => void order.push('renewal'));
    await steps;
    expect(order.indexOf('renewal')).toBeLessThan(3);
  });

  it('of one that is too large only that one is refused, and a smaller one is tried again', async () => {
    const serial = new Serial();
    const writes = new StepWrites(serial, async (changes) => (changes.has('large') ? { kind: 'too-large' } : written));
    const large: StoredStep = { outcome: { kind: 'value', value: 'x'.repeat(100) } };
    const small: StoredStep = { outcome: { kind: 'value', value: 1 } };
    const kinds = async (...changes: [string, StoredStep | undefined][]) =>
      (await Promise.all(changes.map(([name, step]) => writes.keep(name, step)))).map(({ kind }) => kind);
    expect(await kinds(['a', small], ['large', large], ['b', small], ['c', undefined])).toEqual(['written', 'too-large', 'written', 'written']);
    expect(await kinds(['d', small])).toEqual(['written']);
  });
});
