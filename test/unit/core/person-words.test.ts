import { describe, expect, it } from 'vitest';
import type { Stored, WriteResult } from '../../../src/core/ports.ts';
import type { RecordId, StoredRecord } from '../../../src/core/record.ts';
import { forgetRun, resolveRun } from '../../../src/index.ts';
import { ended, fails, operations } from './claims.ts';
import { bench, held } from './engine.ts';

const KEY = { operation: 'test/op', key: 'k' };
const HOUR = 3_600_000;

async function blocked(options: Parameters<typeof bench>[0] = {}) {
  const b = bench({ onUnknown: 'block', ...options });
  await ended(b, b.run(fails, { input: { a: 1 } }));
  await ended(b, b.run(fails));
  const row = async (): Promise<StoredRecord> => {
    for await (const { record } of b.store.list({})) return record;
    throw new Error('no row');
  };
  return { b, row, of: { store: b.store, ...KEY } };
}

describe('what is kept of a person’s word', () => {
  it('who, why and when; nothing where nothing was said', async () => {
    const { b, row, of } = await blocked();
    await resolveRun({ ...of, by: 'me', why: 'asked them' }, { done: 1 });
    expect((await row()).word).toStrictEqual({ did: 'resolve', by: 'me', why: 'asked them', atMs: b.clock.nowMs() });
    await b.clock.advance(10);
    await forgetRun(of);
    expect((await row()).word).toStrictEqual({ did: 'forget', atMs: b.clock.nowMs() });
  });

  it('I2 done: the outcome of a completion, marked as a person’s; why it was blocked and how it ended are over', async () => {
    const { b, row, of } = await blocked({ onThrow: () => ({ as: 'unknown', note: 'time-out' }) });
    const before = await row();
    expect(before).toMatchObject({ state: 'blocked', blockedWhy: 'unknown', note: 'time-out' });
    await resolveRun(of, { done: 1 });
    const after = await row();
    expect(after).toMatchObject({ state: 'completed', outcome: { kind: 'value', resolved: true }, attempt: 1, retentionMs: before.retentionMs });
    for (const gone of ['blockedWhy', 'note', 'steps']) expect(after).not.toHaveProperty(gone);
    expect([after.owner === before.owner, after.revision === before.revision, after.token > before.token]).toEqual([false, false, true]);
    expect(await b.run((): unknown => 'never')).toEqual({ kind: 'completed', value: 1, replayed: true, saved: true, attempt: 1, resolved: true });
  });

  it('I9 not done: it may run again, from the first attempt, and for the same input', async () => {
    const { b, row, of } = await blocked({ onThrow: () => ({ as: 'unknown', note: 'time-out' }) });
    await resolveRun(of, 'not-done');
    const after = await row();
    expect(after).toMatchObject({ state: 'released', attempt: 0, fingerprint: expect.any(String) });
    for (const gone of ['blockedWhy', 'note', 'steps', 'outcome']) expect(after).not.toHaveProperty(gone);
    expect(await b.run(() => 1, { input: { a: 2 } })).toEqual({ kind: 'key-reused' });
  });

  it('I5 a tombstone stays for an hour, and at least as long as the lease of what may still go on', async () => {
    const running = bench({ leaseMs: 2 * HOUR });
    const work = held<number>();
    void running.run(work.work).catch(() => {});
    await work.started;
    await forgetRun({ store: running.store, ...KEY, force: true });
    for await (const { record } of running.store.list({})) expect(record).toMatchObject({ state: 'released', retentionMs: 2 * HOUR + 1 });
    const { row, of } = await blocked();
    const before = await row();
    expect(await forgetRun(of)).toEqual({ kind: 'written' });
    const { word: _, ...after } = await row();
    const { label: __, fingerprint: ___, holder: ____, blockedWhy: _____, ...kept } = before;
    expect(after).toStrictEqual({
      ...kept,
      state: 'released',
      attempt: 0,
      retentionMs: HOUR,
      owner: expect.any(String),
      revision: expect.any(String),
      token: expect.any(Number),
      writtenAtMs: expect.any(Number),
    });
    expect([after.owner === before.owner, after.revision === before.revision, after.token > before.token]).toEqual([false, false, true]);
  });
});

describe('a person’s word that is not taken', () => {
  it.each([
    ['maybe', "resolveRun: say 'not-done' or { done: value }."],
    [null, "resolveRun: say 'not-done' or { done: value }."],
    [{}, "resolveRun: say 'not-done' or { done: value }."],
    [{ done: () => 1 }, 'resolveRun: the value cannot be kept: give plain data, or the codec of the operation.'],
  ])('I8 %j, and why', async (as, message) => {
    const { b, of } = await blocked();
    const before = b.store.calls.length;
    await expect(resolveRun(of, as as never)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message });
    expect(b.store.calls).toHaveLength(before);
  });

  it.each([
    ['resolveRun', { store: {} }, 'store must be an object with read, replace'],
    ['resolveRun', { operation: '' }, 'operation must be a string'],
    ['resolveRun', { force: 1 }, 'force must be true or false'],
    ['resolveRun', { by: '' }, 'by must be a string of 1 to 200'],
    ['resolveRun', { why: 'x'.repeat(1_001) }, 'why must be a string of 1 to 1000'],
    ['resolveRun', { codec: {} }, 'codec must be an object with encode'],
    ['resolveRun', { seal: {} }, 'seal must be an object with close, open'],
    ['forgetRun', { operation: undefined }, 'operation is missing'],
    ['forgetRun', { store: undefined }, 'store is missing'],
  ] as const)('%s with %j', async (what, wrong, message) => {
    const { of } = await blocked();
    const call = what === 'resolveRun' ? resolveRun({ ...of, ...wrong } as never, 'not-done') : forgetRun({ ...of, ...wrong } as never);
    await expect(call).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringMatching(new RegExp(`^${what}: ${message}`)) });
  });

  it.each([
    [{ key: undefined }, 'MISSING_KEY'],
    [{ scope: '' }, 'MISSING_SCOPE'],
  ])('I9 %j', async (wrong, code) => {
    const { of } = await blocked();
    await expect(forgetRun({ ...of, ...wrong } as never)).rejects.toMatchObject({ code, message: expect.stringMatching(/^test\/op: /) });
  });

  it.each([
    ['resolveRun', (of: Parameters<typeof forgetRun>[0]) => resolveRun(of, { done: 1 })],
    ['forgetRun', (of: Parameters<typeof forgetRun>[0]) => forgetRun(of)],
  ] as const)('%s of what does not fit into the store', async (what, say) => {
    const { of } = await blocked();
    const small = { ...of.store, replace: async (): Promise<WriteResult> => ({ ok: false, reason: 'too-large' }) };
    await expect(say({ ...of, store: small })).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: `${what}: the value is too large for the store.`,
    });
  });

  it('I10 with force, and a record that changes under each try: twenty times, not for ever', async () => {
    const { of } = await blocked();
    let tries = 0;
    const busy = {
      ...of.store,
      replace: async (id: RecordId): Promise<WriteResult> => {
        tries += 1;
        if (tries > 30) throw new Error('asked for ever');
        const standing = (await of.store.read(id)) as Stored;
        return { ok: false, reason: 'conflict', current: { ...standing, record: { ...standing.record, revision: `other ${tries}` } } };
      },
    };
    await expect(resolveRun({ ...of, store: busy, force: true }, 'not-done')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/the record r1_\S+ changed under each of 20 tries/),
    });
    expect(tries).toBe(20);
  });

  it('I7 doubt about their own write: known again by its revision, in one look; said where that is not to be found', async () => {
    const { b, of } = await blocked();
    const before = b.store.calls.length;
    b.plan.replace = { [b.store.counts.replace + 1]: 'lost-answer' };
    expect(await resolveRun(of, { done: 1 })).toEqual({ kind: 'written' });
    expect(operations(b).slice(before)).toEqual(['read', 'replace', 'read']);
    const other = await blocked();
    other.b.plan.replace = { [other.b.store.counts.replace + 1]: 'lost-request' };
    await expect(resolveRun(other.of, { done: 1 })).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
    const away = await blocked();
    away.b.plan.replace = { [away.b.store.counts.replace + 1]: 'unavailable' };
    const calls = away.b.store.calls.length;
    await expect(resolveRun(away.of, { done: 1 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(operations(away.b).slice(calls), 'nothing to look for').toEqual(['read', 'replace']);
  });

  it('I6 over a run that is still going on, with force: its owner is fenced and the record keeps nothing but its steps’ outcomes', async () => {
    const b = bench({ leaseMs: 60_000 });
    const work = held<number>();
    const running = b.run(work.work).catch((error: unknown) => error);
    await work.started;
    const of = { store: b.store, ...KEY };
    expect(await resolveRun(of, { done: 2 })).toMatchObject({ kind: 'running', retryAfterMs: expect.any(Number) });
    expect(await resolveRun({ ...of, force: true }, { done: 2 })).toEqual({ kind: 'written' });
    work.end(1);
    expect(await ended(b, running)).toMatchObject({ value: 2, replayed: true });
  });
});
