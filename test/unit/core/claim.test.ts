import { describe, expect, it } from 'vitest';
import { storeMisconfigured } from '../../../src/core/errors.ts';
import type { Stored } from '../../../src/core/ports.ts';
import { answering, ended, fails, operations, written } from './claims.ts';
import { bench, eventsOf, held, inTime } from './engine.ts';

describe('what a claim writes', () => {
  it('I9 a later attempt keeps the fingerprint of the first where it has none of its own, and when the record was made', async () => {
    const b = bench();
    const madeAtMs = b.clock.nowMs();
    await ended(b, b.run(fails, { input: { a: 1 } }));
    await b.clock.advance(5_000);
    await ended(b, b.run(fails));
    const [first, , , second] = written(b);
    expect(first).toMatchObject({ attempt: 1, createdAtMs: madeAtMs, label: 'k', holder: `process ${process.pid}` });
    expect(second).toMatchObject({ attempt: 2, createdAtMs: madeAtMs, fingerprint: first?.fingerprint, state: 'running' });
    expect(
      await ended(
        b,
        b.run(() => 1, { input: { a: 2 } }),
      ),
    ).toMatchObject({ kind: 'key-reused' });
  });

  it('I3 over an expired record nothing of it is kept', async () => {
    const b = bench({ retentionMs: 2_000 });
    await b.run(() => 1, { input: { a: 1 } });
    await b.clock.advance(2_001);
    await b.run(() => 2);
    const claim = written(b).at(-2);
    expect(claim).toMatchObject({ attempt: 1, createdAtMs: b.clock.nowMs() });
    expect(claim).not.toHaveProperty('fingerprint');
    expect(claim).not.toHaveProperty('steps');
  });

  it('I9 what was not given is not written', async () => {
    const b = bench({ label: false });
    await b.run(() => 1);
    for (const field of ['label', 'fingerprint', 'steps', 'outcome']) expect(written(b)[0]).not.toHaveProperty(field);
  });
});

describe('a claim over an attempt that ended without an outcome', () => {
  async function lapsed(options: Parameters<typeof bench>[0]) {
    const b = bench({ leaseMs: 1_000, renew: 'none', ...options });
    const first = held<number>();
    void b.run(first.work).catch(() => {});
    await first.started;
    await b.clock.advance(1_001);
    return b;
  }

  it('I8 the caller is asked, where it gave a function for that; and only then', async () => {
    const asking = await lapsed({ onUnknown: () => ({ done: 5 }) });
    expect(
      await ended(
        asking,
        asking.run((): unknown => 'never'),
      ),
    ).toMatchObject({ kind: 'completed', value: 5, attempt: 2 });
    const plain = await lapsed({});
    expect(
      await ended(
        plain,
        plain.run((run) => run.attempt),
      ),
    ).toMatchObject({ value: 2 });
    const fresh = bench({ onUnknown: () => ({ done: 5 }) });
    expect(
      await ended(
        fresh,
        fresh.run((): unknown => 6),
      ),
    ).toMatchObject({ value: 6, attempt: 1 });
  });

  it('I3 what its steps have kept goes along', async () => {
    const b = bench();
    await ended(
      b,
      b.run(async (run) => {
        await run.step('s', () => 1);
        fails();
      }),
    );
    await b.run((run) => run.step('s', () => 2));
    expect(written(b).filter(({ attempt, state }) => attempt === 2 && state === 'running')[0]?.steps).toHaveProperty('s');
  });
});

describe('a claim that is refused', () => {
  it('I9 with nothing but why', async () => {
    const b = bench();
    await b.run(() => 1, { input: 1 });
    expect(await b.run(() => 1, { input: 2 })).toStrictEqual({ kind: 'key-reused' });
  });

  it('I8 blocked is said only when the record is: somebody else’s outcome goes before', async () => {
    const b = bench({ maxAttempts: 1 });
    await ended(b, b.run(fails));
    const overtaken = answering(b, async (n, standing) => {
      if (n > 1) return undefined;
      const { record, version, ageMs } = standing as Stored;
      const completed = { ...record, state: 'completed', owner: 'other', outcome: { kind: 'value', value: [5] } } as const;
      return { ok: false, reason: 'conflict', current: { record: completed, version, ageMs } };
    });
    expect(
      await ended(
        b,
        overtaken.run((): unknown => 1),
      ),
    ).toMatchObject({ kind: 'completed', value: 5, replayed: true });
  });

  it('I7 blocking that met a lost answer is known again', async () => {
    const b = bench({ maxAttempts: 1 });
    await ended(b, b.run(fails));
    b.plan.replace = { [b.store.counts.replace + 1]: 'lost-answer' };
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ kind: 'blocked', why: 'attempts' });
  });

  it('I8 blocking in doubt to the end: what landed stays blocked, it is not given back', async () => {
    const b = bench({ maxAttempts: 1, leaseMs: 2_000 });
    await ended(b, b.run(fails));
    const first = b.store.counts.replace + 1;
    b.plan.replace = (n) => (n === first ? 'lost-answer' : 'lost-request');
    b.plan.before = (operation) => {
      if (operation === 'read') b.plan.replace = {};
    };
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ code: 'WRITE_UNKNOWN' });
    expect(operations(b).at(-1)).toBe('read');
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ kind: 'blocked' });
  });

  it('I7 is made anew under another name: whoever was overtaken never comes back', async () => {
    const b = bench();
    await ended(b, b.run(fails));
    await b.run(() => 1);
    const [, , refused, made] = written(b).map(({ owner }) => owner);
    expect(operations(b)).toEqual(['create', 'replace', 'create', 'replace', 'replace']);
    expect(made).not.toBe(refused);
  });

  it('I7 one in doubt is sent again under the same name', async () => {
    const b = bench();
    b.plan.create = { 1: 'lost-request', 2: 'lost-request' };
    await ended(
      b,
      b.run(() => 1),
    );
    const [first, second, third] = written(b).map(({ owner }) => owner);
    expect([second, third]).toEqual([first, first]);
  });

  it('I10 the record changes under each claim: the store is not asked for ever', async () => {
    const b = bench();
    await ended(b, b.run(fails));
    let asked = 0;
    const busy = answering(b, async (n, standing) => {
      asked = n;
      if (n > 60) throw new Error('asked for ever');
      const { record, ageMs } = standing as Stored;
      return { ok: false, reason: 'conflict', current: { record: { ...record, revision: `other ${n}` }, version: `v${n}`, ageMs } };
    });
    expect(
      await ended(
        b,
        busy.run(() => 1),
      ),
    ).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/test\/op: the record changed under each of 50 claims/),
    });
    expect(asked).toBe(49);
  });

  it('I8 a claim that is too large for the store is a store that is not set up for it', async () => {
    const b = bench();
    await ended(b, b.run(fails));
    const small = answering(b, async () => ({ ok: false, reason: 'too-large' }));
    expect(
      await ended(
        b,
        small.run(() => 1),
      ),
    ).toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('the claim itself') });
  });

  it('I8 a store that says that nothing happened, and why, is not asked again', async () => {
    const b = bench();
    b.plan.before = () => {
      throw storeMisconfigured('no table.');
    };
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ code: 'STORE_MISCONFIGURED' });
    expect(operations(b)).toEqual(['create']);
  });

  it('I11 blocking costs one write, and the next caller one request', async () => {
    const b = bench({ maxAttempts: 1 });
    await ended(b, b.run(fails));
    const before = b.store.calls.length;
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ kind: 'blocked', why: 'attempts', attempt: 1 });
    expect(operations(b).slice(before)).toEqual(['create', 'replace']);
    expect(written(b).at(-1)).toMatchObject({ state: 'blocked', blockedWhy: 'attempts', retentionMs: 86_400_000 });
    expect(
      await ended(
        b,
        b.run(() => 1),
      ),
    ).toMatchObject({ kind: 'blocked', why: 'attempts' });
    expect(operations(b).slice(before)).toEqual(['create', 'replace', 'create']);
  });

  it('I2 whether an outcome was waited for is told', async () => {
    const b = bench();
    const work = held<number>();
    const running = b.run(work.work);
    await work.started;
    const events = await eventsOf(async () => {
      const waiting = b.run(() => 2, { onInFlight: { waitMs: 500 } });
      await b.clock.advance(100);
      work.end(1);
      expect(await inTime(b.clock, waiting)).toMatchObject({ value: 1, replayed: true });
      await b.run(() => 2, { onInFlight: { waitMs: 500 } });
    });
    await running;
    expect(events.filter((event) => event !== 'completed')).toEqual(['waited', 'replayed']);
  });
});
