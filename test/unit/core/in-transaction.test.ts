import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  beginInTransaction,
  endingOf,
  guardOf,
  IN_TRANSACTION_RULES,
  type InTransactionOptions,
  tellTransaction,
  transactionCall,
  transactionRun,
} from '../../../src/core/in-transaction.ts';
import { derivedKey, recordId, scopeHash } from '../../../src/core/key.ts';
import type { Rule } from '../../../src/core/options.ts';
import type { Stored } from '../../../src/core/ports.ts';
import type { RecordToWrite } from '../../../src/core/record.ts';
import { aesSeal, PermanentError } from '../../../src/index.ts';
import { runEvents } from './run-events.ts';

const operation = 'orders/take';
const DAY_MS = 86_400_000;
const NOW = { nowMs: 5_000, uncertaintyMs: 0 };
const of = (more: Partial<InTransactionOptions> = {}) => transactionCall({ operation, key: 'k', ...more }, 'postgres');
const begin = (standing?: Partial<RecordToWrite> & { ageMs?: number }, more: Partial<InTransactionOptions> = {}) => {
  const { ageMs = 0, ...record } = standing ?? {};
  const whole = { ...begunRecord(), ...record, writtenAtMs: 0 };
  return beginInTransaction<number>(standing === undefined ? undefined : ({ record: whole, version: 'v', ageMs } as Stored), of(more), NOW);
};
function begunRecord(more: Partial<InTransactionOptions> = {}): RecordToWrite {
  const begun = beginInTransaction(undefined, of(more), NOW);
  if (begun.kind !== 'begin') throw new Error(begun.kind);
  return begun.record;
}

describe('the options of a run in a transaction', () => {
  const method = (): void => {};
  const table: [name: string, good: unknown[], bad: unknown[]][] = [
    ['operation', ['o'.repeat(128)], ['', 'o'.repeat(129), 7]],
    ['key', [undefined, 1], []],
    ['scope', [undefined, 1], []],
    ['input', [undefined, 1], []],
    ['fingerprint', ['f'.repeat(1_000)], ['', 'f'.repeat(1_001)]],
    ['retentionMs', [1, { completed: 1 }], [0, {}]],
    ['onUnknown', ['retry', 'block'], ['', method]],
    ['maxAttempts', [1], [0]],
    ['onThrow', [method], ['release']],
    ['label', [true, false, 'a'.repeat(200)], ['', 'a'.repeat(201)]],
    ['seal', [{ close: method, open: method }], [{ close: method }, { open: method }, null, 'seal', undefined]],
    ['signal', [AbortSignal.abort()], [{}]],
  ];

  it.each(table)('%s', (name, good, bad) => {
    const rule = IN_TRANSACTION_RULES[name] as Rule;
    for (const value of good) expect(rule(value), JSON.stringify(value)).toBeUndefined();
    for (const value of bad) expect(rule(value), JSON.stringify(value)).toMatch(/^must /);
  });

  it('all of them are known here', () => {
    expect(Object.keys(IN_TRANSACTION_RULES).sort()).toEqual(table.map(([name]) => name).sort());
    expect(IN_TRANSACTION_RULES.seal?.({})).toBe('must be an object with close, open');
  });

  it('are taken once; what was not given is not there', () => {
    expect(of()).toStrictEqual({
      operation,
      id: recordId(operation, [], ['k']),
      store: 'postgres',
      scope: '',
      label: 'k',
      retention: { completed: DAY_MS, error: DAY_MS, released: DAY_MS },
    });
    const onThrow = () => undefined;
    const { signal } = new AbortController();
    const seal = aesSeal({ keys: { a: randomBytes(32).toString('base64') }, current: 'a' });
    const more = { onUnknown: 'block', maxAttempts: 3, onThrow, seal, signal } as const;
    expect(of({ ...more, scope: 't', key: [1, 'b'], retentionMs: { completed: 5, error: 6 } })).toMatchObject({
      ...more,
      id: recordId(operation, ['t'], ['1', 'b']),
      scope: scopeHash(['t']),
      label: '1/b',
      retention: { completed: 5, error: 6 },
    });
    expect([of({ label: false }).label, of({ label: 'order' }).label, of({ label: true }).label]).toEqual([undefined, 'order', 'k']);
  });

  it('I9 the input counts as a fingerprint of itself; one’s own comes first', () => {
    expect(of({ input: { a: 1, b: 2 } }).fingerprint).toBe(of({ input: { b: 2, a: 1 } }).fingerprint);
    expect(of({ input: 1 }).fingerprint).not.toBe(of({ input: 2 }).fingerprint);
    expect(of({ input: 1, fingerprint: 'mine' }).fingerprint).toMatch(/^own:/);
  });

  it('a key and a scope have to be there', () => {
    expect(() => of({ key: '' })).toThrow(expect.objectContaining({ code: 'MISSING_KEY', message: expect.stringContaining(operation) }));
    expect(() => of({ scope: '' })).toThrow(expect.objectContaining({ code: 'MISSING_SCOPE', message: expect.stringContaining(operation) }));
  });
});

describe('what a new caller does in a transaction', () => {
  it('I1 begins where nothing stands, with a record that nobody is to see: blocked, and unknown', () => {
    expect(begin(undefined, { input: 1, retentionMs: 70 })).toStrictEqual({
      kind: 'begin',
      over: undefined,
      afterUnknown: false,
      record: {
        schema: 1,
        operation,
        scope: '',
        state: 'blocked',
        blockedWhy: 'unknown',
        owner: expect.any(String),
        revision: expect.any(String),
        token: 5_000,
        attempt: 1,
        leaseMs: 0,
        retentionMs: 70,
        createdAtMs: 5_000,
        holder: `process ${process.pid}`,
        label: 'k',
        fingerprint: of({ input: 1 }).fingerprint,
      },
    });
    const [one, other] = [begunRecord(), begunRecord({ label: false })];
    expect(new Set([one.owner, one.revision, other.owner, other.revision]).size).toBe(4);
    for (const name of ['label', 'fingerprint', 'steps']) expect(other).not.toHaveProperty(name);
  });

  it('I5 goes on over an attempt that failed: the next number, a higher token, its steps, its fingerprint, since when', () => {
    const steps = { s: { begun: 1 } };
    const earlier = { state: 'released', attempt: 2, token: 9_000, createdAtMs: 7, fingerprint: 'v1:earlier', steps } as const;
    expect(begin(earlier)).toMatchObject({
      kind: 'begin',
      afterUnknown: false,
      over: { version: 'v' },
      record: { attempt: 3, token: 9_001, createdAtMs: 7, fingerprint: 'v1:earlier', steps },
    });
  });

  it('I3 over one that has expired nothing is kept but the growing token', () => {
    const expired = { state: 'completed', attempt: 2, token: 9_000, createdAtMs: 7, fingerprint: 'v1:earlier', retentionMs: 10, ageMs: 11 } as const;
    const begun = begin(expired);
    expect(begun).toMatchObject({ kind: 'begin', record: { attempt: 1, token: 9_001, createdAtMs: 5_000 } });
    expect((begun as { record: object }).record).not.toHaveProperty('fingerprint');
  });

  it('I8 after an attempt with no outcome it begins by default, or blocks, with a new owner and a higher token', () => {
    const lapsed = { state: 'running', leaseMs: 0, attempt: 2, token: 9_000, retentionMs: 1 } as const;
    expect(begin(lapsed)).toMatchObject({ kind: 'begin', afterUnknown: true, record: { attempt: 3 } });
    const blocked = begin(lapsed, { onUnknown: 'block', retentionMs: { completed: 80, error: 90 } });
    expect(blocked).toMatchObject({
      kind: 'block',
      over: { version: 'v' },
      record: { state: 'blocked', blockedWhy: 'unknown', token: 9_001, attempt: 2, retentionMs: 80 },
      answer: { kind: 'blocked', id: of().id, why: 'unknown', attempt: 2 },
    });
    const { record, over } = blocked as Extract<typeof blocked, { kind: 'block' }>;
    expect([record.owner === over.record.owner, record.revision === over.record.revision]).toEqual([false, false]);
  });

  it('blocks beyond as many attempts as are allowed: 100, or as was said', () => {
    const failed = { state: 'released', retentionMs: 1_000 } as const;
    expect(begin({ ...failed, attempt: 99 }).kind).toBe('begin');
    expect(begin({ ...failed, attempt: 100 })).toMatchObject({ kind: 'block', answer: { why: 'attempts' } });
    expect(begin({ ...failed, attempt: 3 }, { maxAttempts: 3 })).toMatchObject({ kind: 'block', record: { blockedWhy: 'attempts' } });
  });

  it.each<[standing: Partial<RecordToWrite>, options: Partial<InTransactionOptions>, event: string, answer: object]>([
    [
      { state: 'completed', outcome: { kind: 'value', value: { json: 7 } }, attempt: 2 },
      {},
      'replayed',
      { kind: 'completed', value: 7, replayed: true, attempt: 2 },
    ],
    [{ state: 'blocked', blockedWhy: 'failed', attempt: 4 }, {}, 'blocked', { kind: 'blocked', id: of().id, why: 'failed', attempt: 4 }],
    [{ state: 'running', leaseMs: 900, blockedWhy: undefined as never }, {}, 'in-flight', { kind: 'in-flight', retryAfterMs: 900 }],
    [{ state: 'completed', fingerprint: of({ input: 1 }).fingerprint as string }, { input: 2 }, 'key-reused', { kind: 'key-reused' }],
  ])('I2 I9 answers where there is one: %j', (standing, options, event, answer) => {
    expect(begin(standing, options)).toMatchObject({ kind: 'answer', event, answer });
  });
});

describe('the run in a transaction', () => {
  const record = begunRecord();

  it('has the fence of its record, its keys and its outbox, and nothing that would be kept apart from it', async () => {
    const { signal } = new AbortController();
    const call = of({ signal });
    const { run, messages, end } = transactionRun<number>(call, { ...record, attempt: 3 });
    const { owner, token } = record;
    expect(run).toMatchObject({ operation, attempt: 3, token, fence: { id: call.id, owner, token }, key: derivedKey(call.id, '') });
    expect(run.signal).toBe(signal);
    expect(run.remainingMs()).toBe(Number.POSITIVE_INFINITY);
    run.assertHeld();
    await expect(run.step('s', () => 1)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'orders/take: run.step has no place in a transaction: use runOnce, or do the work without a step.',
    });
    await expect(run.commit(1, () => Promise.reject(new Error('sent')))).rejects.toMatchObject({
      message: 'orders/take: run.commit has no place in a transaction: what the work returns is committed with what it wrote.',
    });
    run.outbox.add({ topic: 't', payload: 1 });
    end();
    expect(() => run.outbox.add({ topic: 't', payload: 2 })).toThrow(expect.objectContaining({ message: 'outbox.add: the run is over.' }));
    expect(messages).toMatchObject([{ topic: 't' }]);
    expect(run.remainingMs()).toBe(0);
    expect(() => run.assertHeld(1)).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
  });
});

describe('what becomes of it', () => {
  const begun: RecordToWrite = { ...begunRecord({ retentionMs: 70 }), attempt: 2, steps: { s: { begun: 1 } } };

  it('I1 the value, committed with the work, as the same owner; smaller, where it is too large', () => {
    const ending = endingOf(of(), begun, { value: { a: 1 } });
    expect(ending).toMatchObject({
      kind: 'write',
      keepsWork: true,
      record: { state: 'completed', owner: begun.owner, token: begun.token, retentionMs: 70, outcome: { kind: 'value', value: { json: { a: 1 } } } },
      smaller: { state: 'completed', outcome: { kind: 'not-stored', reason: 'too-large' } },
      answer: { kind: 'completed', value: { a: 1 }, replayed: false, saved: true, attempt: 2 },
    });
    const { record, tell } = ending as Extract<typeof ending, { kind: 'write' }>;
    expect(tell).toStrictEqual({ event: 'completed' });
    expect(record.revision).not.toBe(begun.revision);
    for (const name of ['blockedWhy', 'steps']) expect(record).not.toHaveProperty(name);
  });

  it('a value that cannot be kept: committed without it, and told where', () => {
    expect(endingOf(of(), begun, { value: { total: () => 1 } })).toMatchObject({
      record: { outcome: { kind: 'not-stored', reason: 'not-serializable' } },
      tell: { event: 'completed', notKept: 'not-serializable', notKeptAt: '.total is a function' },
    });
  });

  it('I2 an error that is remembered: what the work wrote is rolled back, the error is kept, bare where it is too large', () => {
    const thrown = new PermanentError('declined', { data: { rows: 7 } });
    const ending = endingOf(of({ retentionMs: { completed: 70, error: 90 } }), begun, { thrown });
    expect(ending).toMatchObject({
      kind: 'write',
      keepsWork: false,
      record: { state: 'completed', retentionMs: 90, outcome: { kind: 'error', error: { message: 'declined' } } },
      smaller: { state: 'completed', retentionMs: 90, outcome: { kind: 'error', error: { message: 'declined' } } },
      answer: { kind: 'failed', error: thrown, replayed: false },
      tell: { event: 'remembered', error: thrown },
    });
    const { record, smaller } = ending as Extract<typeof ending, { kind: 'write' }>;
    expect([JSON.stringify(record).includes('rows'), JSON.stringify(smaller).includes('rows')]).toEqual([true, false]);
  });

  it('what is kept is sealed', () => {
    const seal = aesSeal({ keys: { a: randomBytes(32).toString('base64') }, current: 'a' });
    expect(endingOf(of({ seal }), begun, { value: 'secret' })).toMatchObject({ record: { outcome: { kind: 'sealed' } } });
    expect(guardOf({ operation, seal })).toEqual({ operation, seal });
  });

  it.each<[onThrow: InTransactionOptions['onThrow'], thrown: unknown, kind: string]>([
    [undefined, new Error('no'), 'roll-back'],
    [undefined, new PermanentError('no'), 'write'],
    [() => undefined, new PermanentError('no'), 'write'],
    [() => undefined, new Error('no'), 'roll-back'],
    [() => 'release', new PermanentError('no'), 'roll-back'],
    [() => 'remember', new Error('no'), 'write'],
    [() => 'nonsense' as never, new PermanentError('no'), 'roll-back'],
    [
      () => {
        throw new Error('judge');
      },
      new PermanentError('no'),
      'roll-back',
    ],
  ])('onThrow %s, of %s: %s', (onThrow, thrown, kind) => {
    const ending = endingOf(of(onThrow === undefined ? {} : { onThrow }), begun, { thrown });
    expect(ending.kind).toBe(kind);
    if (ending.kind === 'roll-back') expect(ending).toStrictEqual({ kind, thrown });
  });

  it('is told with whose it is', () => {
    const { events, stop } = runEvents();
    tellTransaction(of(), { event: 'completed', attempt: 2 });
    stop();
    expect(events).toEqual([{ event: 'completed', attempt: 2, operation, id: of().id, store: 'postgres' }]);
  });
});
