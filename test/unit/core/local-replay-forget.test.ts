import { describe, expect, it } from 'vitest';
import { forgetRun, resolveRun, sweep } from '../../../src/index.ts';
import type { StoreOperation } from '../../../src/testing/index.ts';
import { incompressible } from '../../support/incompressible.ts';
import { bench } from './engine.ts';

const LOCAL = { localReplay: { maxEntries: 10 } };
const KEY = { operation: 'test/op', key: 'k' };
type Bench = ReturnType<typeof bench>;

/** Once, when the store has answered the next such request and before its caller learns of it. */
function afterNext(b: Bench, operation: StoreOperation, what: () => Promise<unknown>): void {
  b.plan.after = async (asked) => {
    if (asked !== operation) return;
    delete b.plan.after;
    await what();
  };
}

const forget = (b: Bench) => forgetRun({ store: b.store, ...KEY });

/** What a call with `localReplay` gets, after a run that keeps nothing here. */
async function afterAnotherRun(b: Bench): Promise<unknown> {
  await b.run((): unknown => 'new', { localReplay: undefined as never });
  return b.run((): unknown => 'never');
}

describe('localReplay and a word said in the same process', () => {
  it('I2 a reader that is still taking the parts does not keep what is forgotten meanwhile', async () => {
    const b = bench(LOCAL, { inlineBytes: 1_000 });
    await b.run(() => incompressible(3_000), { localReplay: undefined as never });
    afterNext(b, 'readPart', () => forget(b));
    expect(await b.run((): unknown => 'never')).toMatchObject({ replayed: true });
    expect(await afterAnotherRun(b)).toMatchObject({ value: 'new', replayed: true });
  });

  it('I2 nor does one that was about to be told of it', async () => {
    const b = bench(LOCAL);
    await b.run(() => 'old', { localReplay: undefined as never });
    afterNext(b, 'create', () => forget(b));
    expect(await b.run((): unknown => 'never')).toMatchObject({ value: 'old', replayed: true });
    expect(await afterAnotherRun(b)).toMatchObject({ value: 'new', replayed: true });
  });

  it('I2 nor does the owner, whose outcome is forgotten as it is written', async () => {
    const b = bench(LOCAL);
    afterNext(b, 'replace', () => forget(b));
    expect(await b.run(() => 'old')).toMatchObject({ value: 'old', replayed: false });
    expect(await afterAnotherRun(b)).toMatchObject({ value: 'new', replayed: true });
  });

  it('I2 nor one that came while the word was being written', async () => {
    const b = bench(LOCAL);
    await b.run(() => 'old');
    b.plan.before = async (operation) => {
      if (operation !== 'replace') return;
      delete b.plan.before;
      await b.run((): unknown => 'never');
    };
    expect(await forget(b)).toEqual({ kind: 'written' });
    expect(await afterAnotherRun(b)).toMatchObject({ value: 'new', replayed: true });
  });

  it.each(['lost-answer', 'retried-lost-answer', 'hang-applied'] as const)(
    'I2 a word that landed counts here, whatever became of its answer: %s',
    async (fault) => {
      const b = bench(LOCAL);
      await b.run(() => 'old');
      b.plan.replace = { [b.store.counts.replace + 1]: fault };
      // Nor can it be looked at, whether it did.
      if (fault === 'lost-answer') b.plan.read = { [b.store.counts.read + 2]: 'unavailable' };
      const said = forget(b).catch((error) => error);
      // One that never answers has not ended, and has landed all the same.
      if (fault === 'hang-applied') await b.clock.settle();
      else await said;
      expect((await b.store.read(b.store.calls[0]?.id ?? ''))?.record.state).toBe('released');
      expect(await b.run((): unknown => 'new')).toMatchObject({ value: 'new', replayed: false });
    },
  );

  it('I2 a word that changes nothing shows that somebody else may have: the store is asked again', async () => {
    const b = bench(LOCAL);
    await b.run(() => 'old');
    // Another process forgets it, and the work runs there.
    await forgetRun({ store: { ...b.store }, ...KEY });
    await b.run(() => 'new', { localReplay: undefined as never });
    expect(await resolveRun({ store: b.store, ...KEY }, 'not-done')).toEqual({ kind: 'not-needed' });
    expect(await b.run((): unknown => 'never')).toMatchObject({ value: 'new', replayed: true });
  });

  it("I2 a sweep's answer counts as a person's", async () => {
    const b = bench({ ...LOCAL, onUnknown: 'block' });
    await b
      .run(() => {
        throw new Error('time-out');
      })
      .catch(() => {});
    await b.clock.advance(10);
    await sweep({ store: b.store, olderThanMs: 0 }, () => ({ done: 'found' }));
    expect(await b.run((): unknown => 'never')).toMatchObject({ value: 'found', replayed: true });
  });

  it('I11 other calls go on keeping what they see', async () => {
    const b = bench(LOCAL);
    await b.run(() => 1, { key: 'other' });
    await forget(b);
    await b.run(() => 'new');
    const before = b.store.calls.length;
    expect(await b.run((): unknown => 2, { key: 'other' })).toMatchObject({ value: 1, replayed: true });
    expect(await b.run((): unknown => 2)).toMatchObject({ value: 'new', replayed: true });
    expect(b.store.calls.length).toBe(before);
  });
});
