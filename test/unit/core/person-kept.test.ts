import { describe, expect, it } from 'vitest';
import { storeUnavailable } from '../../../src/core/errors.ts';
import { recordId } from '../../../src/core/key.ts';
import { resolveById } from '../../../src/core/person.ts';
import type { RecordStore, Stored } from '../../../src/core/ports.ts';
import type { RecordToWrite, StoredStep } from '../../../src/core/record.ts';
import { forgetRun, memoryStore, resolveRun, type Seal } from '../../../src/index.ts';
import { virtualClock } from '../../../src/testing/index.ts';
import { incompressible } from '../../support/incompressible.ts';

const ID = recordId('test/op', [], ['k']);
const BLOCKED: RecordToWrite = {
  schema: 1,
  operation: 'test/op',
  scope: '',
  state: 'blocked',
  blockedWhy: 'unknown',
  note: 'time-out',
  owner: 'a',
  revision: 'r',
  token: 7,
  attempt: 3,
  leaseMs: 1_000,
  retentionMs: 100_000,
  createdAtMs: 1,
};
const LAPSED: RecordToWrite = { ...BLOCKED, state: 'running', leaseMs: 0 };
const done: StoredStep = { outcome: { kind: 'value', value: { json: 1 } } };
const sealedStep: StoredStep = { outcome: { kind: 'sealed', sealed: 's' } };
const lost: StoredStep = { outcome: { kind: 'not-stored', reason: 'too-large' } };
const begun: StoredStep = { begun: 2 };
const seal: Seal = { close: (text, boundTo) => `${boundTo}|${text}`, open: (text, boundTo) => text.slice(boundTo.length + 1) };

async function stage(record: RecordToWrite, options: Parameters<typeof memoryStore>[0] = {}) {
  const clock = virtualClock();
  const store = memoryStore({ clock, ...options });
  await store.create(ID, record);
  const row = async (): Promise<Stored> => (await store.read(ID)) as Stored;
  return { clock, store, row, of: { store, operation: 'test/op', key: 'k' } };
}
const refusal = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

describe("'not-done'", () => {
  it('I3 keeps the steps that are done; one that was only begun may begin again', async () => {
    const { row, of } = await stage({ ...BLOCKED, steps: { charge: done, mail: sealedStep, ship: begun } });
    expect(await resolveRun({ ...of, seal }, 'not-done')).toEqual({ kind: 'written' });
    const { record } = await row();
    expect(record).toMatchObject({ state: 'released', attempt: 0 });
    expect(record.steps).toStrictEqual({ charge: done, mail: sealedStep });
    for (const gone of ['note', 'blockedWhy']) expect(record).not.toHaveProperty(gone);
  });

  it('I3 keeps none where none is done', async () => {
    for (const steps of [{ ship: begun }, {}]) {
      const { row, of } = await stage({ ...BLOCKED, steps });
      await resolveRun(of, 'not-done');
      expect((await row()).record).not.toHaveProperty('steps');
    }
  });

  it('I3 is refused where a step is done and only its value was not kept, and each such is named; with force those run again', async () => {
    const { row, of } = await stage({ ...BLOCKED, steps: { charge: done, ship: lost, mail: lost, print: begun } });
    expect(await refusal(resolveRun(of, 'not-done'))).toMatchObject({
      code: 'INVALID_OPTIONS',
      message:
        "resolveRun: 'not-done' would run again what is done: of the step(s) ship, mail only the value could not be kept. Say { done: value } of the whole run, forget it, or use force.",
      facts: { steps: ['ship', 'mail'] },
    });
    expect((await row()).record.state).toBe('blocked');
    expect(await resolveRun({ ...of, force: true }, 'not-done')).toEqual({ kind: 'written' });
    expect((await row()).record.steps).toStrictEqual({ charge: done });
  });

  it('is written, too, where outcomes lie in parts', async () => {
    const { row, of } = await stage(BLOCKED, { inlineBytes: 100 });
    expect(await resolveRun(of, 'not-done')).toEqual({ kind: 'written' });
    expect((await row()).record).not.toHaveProperty('outcome');
  });
});

describe('what is sealed', () => {
  const WORDS = 'resolveRun: what this run keeps is sealed: pass its seal, or the outcome would lie there in the open.';
  const kept: [string, Partial<RecordToWrite>][] = [
    ['an outcome', { outcome: { kind: 'sealed', sealed: 's' } }],
    ['an outcome in parts', { outcome: { kind: 'parts', of: 'sealed', owner: 'o', hash: 'h', bytes: 1, count: 1 } }],
    ['a step', { steps: { charge: done, mail: sealedStep } }],
  ];

  it.each(kept)('%s: nothing is written in the open beside it, and who forgets the run needs no seal', async (_, more) => {
    const { row, of } = await stage({ ...BLOCKED, ...more });
    expect(await refusal(resolveRun(of, { done: 1 }))).toMatchObject({ code: 'INVALID_OPTIONS', message: WORDS });
    expect(await refusal(resolveRun({ ...of, force: true }, 'not-done'))).toMatchObject({ message: WORDS });
    expect((await row()).record.state).toBe('blocked');
    expect(await resolveRun({ ...of, seal }, { done: 1 })).toEqual({ kind: 'written' });
    expect((await row()).record.outcome).toStrictEqual({
      kind: 'sealed',
      sealed: `${ID}|{"kind":"value","value":{"json":1},"resolved":true}`,
      resolved: true,
    });
    const other = await stage({ ...BLOCKED, ...more });
    expect(await forgetRun(other.of)).toEqual({ kind: 'written' });
  });

  it('what is not: an outcome, parts, steps, marks', async () => {
    for (const more of [
      {},
      { outcome: { kind: 'value', value: 1 } },
      { outcome: { kind: 'parts', of: 'value', owner: 'o', hash: 'h', bytes: 1, count: 1 } },
      { steps: { charge: done, ship: begun, mail: lost } },
    ] as const) {
      const { row, of } = await stage({ ...BLOCKED, ...more });
      expect(await resolveRun(of, { done: 1 })).toEqual({ kind: 'written' });
      expect((await row()).record.outcome).toStrictEqual({ kind: 'value', value: { json: 1 }, resolved: true });
    }
  });
});

describe("'block'", () => {
  it('I8 keeps a run that lapsed for a person, without a word of theirs', async () => {
    const { store, row } = await stage({ ...LAPSED, steps: { charge: done } });
    const before = (await row()).record;
    expect(await resolveById(store, ID, { by: 'me' }, 'block', await row())).toEqual({ kind: 'written' });
    const { record } = await row();
    const changed = { owner: expect.any(String), revision: expect.any(String), token: expect.any(Number) };
    expect(record).toStrictEqual({ ...before, ...changed, state: 'blocked', blockedWhy: 'unknown' });
    expect([record.owner === 'a', record.revision === 'r', record.token > 7]).toEqual([false, false, true]);
  });

  it('I4 where what was seen no longer stands, by whoever wrote it since, nothing is written', async () => {
    for (const seen of [{ owner: 'other' }, { revision: 'other' }]) {
      const { store, row } = await stage(LAPSED);
      const { record, ...rest } = await row();
      expect(await resolveById(store, ID, {}, 'block', { ...rest, version: 'stale', record: { ...record, ...seen } })).toEqual({ kind: 'changed' });
      expect((await row()).record).toStrictEqual(record);
    }
  });
});

describe('a word that is large', () => {
  it('I2 lies in parts, like any other outcome', async () => {
    const { store, row, of } = await stage(BLOCKED, { inlineBytes: 1_000 });
    expect(await resolveRun(of, { done: incompressible(5_000) })).toEqual({ kind: 'written' });
    expect((await row()).record.outcome).toMatchObject({ kind: 'parts', of: 'value', resolved: true });
    expect(store.limits.parts).toBeDefined();
  });

  it('I10 a store that does not take its parts is asked once for each, and the failure is told', async () => {
    const { store, row, of } = await stage(BLOCKED, { inlineBytes: 1_000 });
    const failure = storeUnavailable('disk', undefined);
    const asked: string[] = [];
    const putPart: RecordStore['putPart'] = async (_, name) => {
      if (asked.push(name) > 20) throw new Error('asked for ever');
      throw failure;
    };
    expect(await refusal(resolveRun({ ...of, store: { ...store, putPart } }, { done: incompressible(5_000) }))).toBe(failure);
    expect(new Set(asked).size).toBe(asked.length);
    expect((await row()).record.state).toBe('blocked');
  });

  it('I10 one that takes its time has it', async () => {
    const { store, row, of } = await stage(BLOCKED, { inlineBytes: 1_000 });
    const putPart: RecordStore['putPart'] = async (...part) => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return store.putPart?.(...part);
    };
    expect(await resolveRun({ ...of, store: { ...store, putPart } }, { done: incompressible(5_000) })).toEqual({ kind: 'written' });
    expect((await row()).record.outcome).toMatchObject({ kind: 'parts' });
  });
});
