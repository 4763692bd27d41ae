import { describe, expect, it } from 'vitest';
import type { MoveResult } from '../../../src/core/move.ts';
import type { StoredStep } from '../../../src/core/record.ts';
import { Serial } from '../../../src/core/serial.ts';
import { type StepChanges, StepWrites } from '../../../src/core/step-writes.ts';

const WRITTEN = { kind: 'written', sentAt: 0 } as unknown as MoveResult;
const value = (bytes: number): StoredStep => ({ outcome: { kind: 'value', value: 'x'.repeat(bytes) } });
const note: StoredStep = { outcome: { kind: 'not-stored', reason: 'too-large' } };

function stage(answer: (changes: StepChanges) => MoveResult) {
  const sent: string[][] = [];
  const writes = new StepWrites(new Serial(), async (changes) => {
    sent.push([...changes.keys()]);
    return answer(changes);
  });
  const all = async (...changes: [string, StoredStep | undefined][]) =>
    (await Promise.all(changes.map(([name, step]) => writes.keep(name, step)))).map(({ kind }) => kind);
  return { sent, all, writes };
}
const has = (changes: StepChanges, ...names: string[]): boolean => names.some((name) => changes.has(name));

describe('writes of steps', () => {
  it('I11 what is to be kept at one time shares one write, and what comes later the next', async () => {
    const { sent, all } = stage(() => WRITTEN);
    expect(await all(['a', value(1)], ['b', note], ['c', undefined])).toEqual(['written', 'written', 'written']);
    expect(await all(['d', note])).toEqual(['written']);
    expect(sent).toEqual([['a', 'b', 'c'], ['d']]);
  });

  it.each(['lost', 'no-answer', 'adopt'] as const)('I8 what became of it, all who share it are told, and it is not sent again: %s', async (kind) => {
    const { sent, all } = stage(() => ({ kind }) as MoveResult);
    expect(await all(['a', value(1)], ['b', note])).toEqual([kind, kind]);
    expect(sent).toEqual([['a', 'b']]);
  });

  it('too large for all: each half by itself, the first one larger where they are odd', async () => {
    const { sent, all } = stage((changes) => (changes.size > 1 ? { kind: 'too-large' } : WRITTEN));
    expect(await all(['a', note], ['b', note], ['c', note])).toEqual(['written', 'written', 'written']);
    expect(sent).toEqual([['a', 'b', 'c'], ['a', 'b'], ['a'], ['b'], ['c']]);
  });

  it('I8 what became of one half is not told to the other', async () => {
    const { all } = stage((changes) => (changes.size > 1 ? { kind: 'too-large' } : has(changes, 'a') ? WRITTEN : { kind: 'lost' }));
    expect(await all(['a', note], ['b', note])).toEqual(['written', 'lost']);
  });

  it('what is not smaller than what did not fit is not sent with the others, nor is anybody told that it was kept', async () => {
    const { sent, all } = stage((changes) => (has(changes, 'l1', 'l2') ? { kind: 'too-large' } : WRITTEN));
    expect(await all(['l1', value(100)], ['a', value(1)], ['l2', value(101)], ['l3', value(200)])).toEqual([
      'too-large',
      'written',
      'too-large',
      'too-large',
    ]);
    expect(sent).toEqual([['l1', 'a', 'l2', 'l3'], ['l1', 'a'], ['l1'], ['a']]);
  });

  it('of the same size is not smaller', async () => {
    const { sent, all } = stage((changes) => (changes.size > 1 || has(changes, 'l1') ? { kind: 'too-large' } : WRITTEN));
    expect(await all(['l1', value(100)], ['l2', value(100)])).toEqual(['too-large', 'too-large']);
    expect(sent).toEqual([['l1', 'l2'], ['l1']]);
  });

  it('for notes there is more room than for values: what is learnt of one says nothing of the other', async () => {
    const { sent, all } = stage((changes) => (changes.size > 1 || has(changes, 'v') ? { kind: 'too-large' } : WRITTEN));
    expect(await all(['v', value(1)], ['a note that is longer than it', note])).toEqual(['too-large', 'written']);
    expect(sent).toHaveLength(3);
    const other = stage((changes) => (changes.size > 1 || has(changes, 'n') ? { kind: 'too-large' } : WRITTEN));
    expect(await other.all(['n', note], ['v', value(1_000)])).toEqual(['too-large', 'written']);
  });

  it('the smallest that did not fit counts', async () => {
    const { sent, all } = stage((changes) => (changes.size > 1 || has(changes, 'small', 'large') ? { kind: 'too-large' } : WRITTEN));
    await all(['small', value(50)]);
    await all(['large', value(500)]);
    expect(await all(['x1', value(1)], ['x2', value(60)])).toEqual(['written', 'too-large']);
    expect(sent).toEqual([['small'], ['large'], ['x1', 'x2'], ['x1']]);
  });

  it.each([
    ['alone', []],
    ['among others', [['a', note]]],
  ] as [string, [string, StoredStep][]][])('a mark that was taken back makes room again: %s', async (_, others) => {
    const { sent, all } = stage((changes) => (has(changes, 'l1') ? { kind: 'too-large' } : WRITTEN));
    await all(['l1', value(100)]);
    await all(['gone', undefined], ...others);
    sent.length = 0;
    expect(await all(['l2', value(100)])).toEqual(['written']);
    expect(await all(['l1', value(200)], ['l2', value(100)])).toEqual(['too-large', 'written']);
    expect(sent).toEqual([['l2'], ['l1', 'l2'], ['l1'], ['l2']]);
  });

  it('one that could not be taken back makes none, and is no size', async () => {
    const { sent, all } = stage((changes) => (changes.size > 1 || has(changes, 'l1', 'gone') ? { kind: 'too-large' } : WRITTEN));
    await all(['l1', value(100)]);
    expect(await all(['gone', undefined])).toEqual(['too-large']);
    sent.length = 0;
    expect(await all(['l2', value(100)], ['a', value(1)])).toEqual(['too-large', 'written']);
    expect(sent).toEqual([['l2', 'a'], ['a']]);
  });

  it('a write without a mark that is taken back makes no room', async () => {
    const { sent, all } = stage((changes) => (changes.size > 1 || has(changes, 'l1') ? { kind: 'too-large' } : WRITTEN));
    await all(['l1', value(100)]);
    await all(['a', value(1)]);
    sent.length = 0;
    expect(await all(['l2', value(100)], ['b', value(1)])).toEqual(['too-large', 'written']);
    expect(sent).toEqual([['l2', 'b'], ['b']]);
  });
});
