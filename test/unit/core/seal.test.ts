import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { aesSeal, PermanentError, type Run, resolveRun } from '../../../src/index.ts';
import { bench } from './engine.ts';

const one = randomBytes(32);
const two = randomBytes(32);
const seal = aesSeal({ keys: { one }, current: 'one' });
const SECRET = 'card 4242';

type Bench = ReturnType<typeof bench>;
async function rows(b: Bench) {
  const all = [];
  for await (const found of b.store.list({})) all.push(found);
  return all;
}

describe('sealed records', () => {
  it('values, remembered errors and steps cannot be read in the store, and come back as they were', async () => {
    const b = bench({ seal });
    const work = async (run: Run) => {
      await run.step('one', () => SECRET);
      if (run.attempt === 1) throw new Error('crash');
      return { card: SECRET, at: new Date(5) };
    };
    await expect(b.run(work)).rejects.toThrow('crash');
    expect(JSON.stringify(await rows(b))).not.toContain('4242');
    expect(await b.run(work)).toMatchObject({ attempt: 2 });
    await b.run(() => Promise.reject(new PermanentError(SECRET, { data: SECRET })), { key: 'error' });
    expect(JSON.stringify(await rows(b))).not.toContain('4242');
    expect(await b.run(work)).toMatchObject({ value: { card: SECRET, at: new Date(5) }, replayed: true });
    expect(await b.run(() => 1, { key: 'error' })).toMatchObject({ kind: 'failed', error: { message: SECRET, data: SECRET } });
  });

  it('I3 without the key, with another key, or changed: refused with a code, and the work is not run again', async () => {
    const b = bench();
    let runs = 0;
    await b.run(() => ++runs, { seal });
    for (const other of [undefined, aesSeal({ keys: { one: two }, current: 'one' }), aesSeal({ keys: { two }, current: 'two' })]) {
      await expect(b.run(() => ++runs, other === undefined ? {} : { seal: other })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    }
    const [row] = await rows(b);
    if (row?.record.outcome?.kind !== 'sealed') throw new Error('not sealed');
    const changed = `${row.record.outcome.sealed.slice(0, -2)}AA`;
    await b.store.replace(row.id, { ...row.record, revision: 'x', outcome: { kind: 'sealed', sealed: changed } }, row.version);
    await expect(b.run(() => ++runs, { seal })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(runs).toBe(1);
  });

  it('a row that is copied to another key does not open there, nor a step as another', async () => {
    const b = bench({ seal });
    await b.run(() => SECRET, { key: 'mine' });
    const [mine] = await rows(b);
    await b.run(() => 'theirs', { key: 'theirs' });
    const theirs = (await rows(b)).find(({ id }) => id !== mine?.id);
    if (mine?.record.outcome === undefined || theirs === undefined) throw new Error('no rows');
    await b.store.replace(theirs.id, { ...theirs.record, revision: 'x', outcome: mine.record.outcome }, theirs.version);
    await expect(b.run(() => 'again', { key: 'theirs' })).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED' });
  });

  it('keys are rotated: what the old one closed still opens, new records are closed with the new one', async () => {
    const b = bench();
    await b.run(() => 'old', { key: 'old', seal });
    const rotated = aesSeal({ keys: { one: one.toString('base64'), two }, current: 'two' });
    expect(await b.run(() => 'x', { key: 'old', seal: rotated })).toMatchObject({ value: 'old' });
    await b.run(() => 'new', { key: 'new', seal: rotated });
    const sealedWith = (await rows(b)).map(({ record }) => (record.outcome?.kind === 'sealed' ? record.outcome.sealed.split('.')[0] : 'open'));
    expect(sealedWith.sort()).toEqual(['one', 'two']);
  });

  it('what was stored before a seal was chosen stays readable, and a person can resolve a sealed run', async () => {
    const b = bench();
    await b.run(() => 'plain', { key: 'plain' });
    expect(await b.run(() => 'x', { key: 'plain', seal })).toMatchObject({ value: 'plain' });
    await b.run(() => Promise.reject(new Error('time-out')), { onUnknown: 'block', seal }).catch(() => {});
    await resolveRun({ store: b.store, operation: 'test/op', key: 'k', seal }, { done: SECRET });
    expect(JSON.stringify(await rows(b))).not.toContain('4242');
    expect(await b.run(() => 'x', { seal })).toMatchObject({ value: SECRET, replayed: true });
  });

  it('a seal that fails after the work is done completes the record without the value', async () => {
    const broken = {
      ...seal,
      close: () => {
        throw new Error('no entropy');
      },
    };
    const b = bench({ seal: broken });
    expect(await b.run(() => 'done')).toMatchObject({ value: 'done', saved: true });
    await expect(b.run(() => 'again')).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
  });

  it('I8 a seal that fails is told to the person, and the run stays blocked', async () => {
    const b = bench({ onUnknown: 'block' });
    await b.run(() => Promise.reject(new Error('time-out'))).catch(() => {});
    await b.run(() => 1);
    const away = () => {
      throw new Error('KMS is away');
    };
    for (const close of [away, async () => 'later', () => Promise.reject(new Error('later'))]) {
      const broken = { ...seal, close: close as never };
      await expect(resolveRun({ store: b.store, operation: 'test/op', key: 'k', seal: broken }, { done: 1 })).rejects.toThrow();
      expect(await b.run(() => 1, { seal: broken })).toMatchObject({ kind: 'blocked' });
    }
  });

  it('a person who forgot the seal is told, before anything lies in the open', async () => {
    const b = bench({ onUnknown: 'block', seal });
    await b.run((run) => run.step('s', () => SECRET).then(() => Promise.reject(new Error('time-out')))).catch(() => {});
    const run = { store: b.store, operation: 'test/op', key: 'k' };
    await expect(resolveRun(run, { done: SECRET })).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
    expect(JSON.stringify(await rows(b))).not.toContain('4242');
    expect(await resolveRun({ ...run, seal }, { done: SECRET })).toEqual({ kind: 'written' });
  });

  it('I12 a seal that answers later than at once keeps nothing, and nothing is left unhandled', async () => {
    const b = bench({ seal: { ...seal, close: (() => Promise.reject(new Error('later'))) as never } });
    expect(await b.run(() => 'done')).toMatchObject({ value: 'done', saved: true });
    await expect(b.run(() => 'again')).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
  });

  it.each([async () => 'later', () => Promise.reject(new Error('KMS is away'))])(
    'I12 a seal that opens later than at once is refused with a code, and nothing is left unhandled',
    async (open) => {
      const b = bench({ seal: { ...seal, open: open as never } });
      let runs = 0;
      await b.run(() => ++runs);
      await expect(b.run(() => ++runs)).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', cause: expect.any(TypeError) });
      expect(runs).toBe(1);
    },
  );

  it.each([
    [{ keys: { a: 5 }, current: 'a' }],
    [{ keys: { a: 'short' }, current: 'a' }],
    [{ keys: { one }, current: 'two' }],
    [{ keys: {}, current: 'a' }],
    [{ keys: { 'a.b': one }, current: 'a.b' }],
    [{}],
  ])('refuses keys that are none: %#', (options) => {
    expect(() => aesSeal(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });
});
