import { describe, expect, it } from 'vitest';
import type { ListQuery } from '../../../src/core/ports.ts';
import type { StoredRecord } from '../../../src/core/record.ts';
import { LEASE_OPERATION } from '../../../src/core/store-leases.ts';
import { type Found, type SweepOptions, sweep } from '../../../src/index.ts';

const RECORD: StoredRecord = {
  schema: 1,
  operation: 'orders/ship',
  scope: '',
  state: 'running',
  owner: 'a',
  revision: 'r',
  token: 7,
  attempt: 2,
  leaseMs: 1_000,
  retentionMs: 10_000,
  createdAtMs: 1,
  writtenAtMs: 2,
};

interface Row {
  readonly record: Partial<StoredRecord>;
  readonly ageMs: number;
}

/** A store that lists what it is told to, and keeps what it was asked. */
function listing(rows: readonly Row[], uncertaintyMs = 0) {
  const queries: ListQuery[] = [];
  const written: StoredRecord[] = [];
  const store = {
    name: 'listing',
    clock: { source: 'store', uncertaintyMs, nowMs: () => 5_000 },
    async *list(query: ListQuery) {
      queries.push(query);
      for (const [n, { record, ageMs }] of rows.entries()) {
        const whole = { ...RECORD, ...record };
        if (whole.state === query.state) yield { id: `r1_${n}`, version: 'v', record: whole, ageMs };
      }
    },
    read: async () => undefined,
    replace: async (_: string, record: StoredRecord) => {
      written.push(record);
      return { ok: true, version: 'w' };
    },
  };
  const swept = async (options: Partial<SweepOptions> = {}, answer: (found: Found) => unknown = () => undefined) => {
    const found: Found[] = [];
    const result = await sweep({ store: store as never, ...options }, (one) => {
      found.push(one);
      return answer(one) as never;
    });
    return { found, result };
  };
  return { queries, written, swept };
}

const LAPSED: Row = { record: {}, ageMs: 1_001 };
const BLOCKED: Row = { record: { state: 'blocked', blockedWhy: 'unknown' }, ageMs: 5 };

describe('what a sweep shows', () => {
  it('of a run with little known, and no more than that', async () => {
    const { found } = await listing([LAPSED]).swept();
    expect(found).toStrictEqual([{ kind: 'lapsed', id: 'r1_0', operation: 'orders/ship', attempt: 2, ageMs: 1_001, createdAtMs: 1, steps: [] }]);
  });

  it('of a run with all there is', async () => {
    const steps: StoredRecord['steps'] = {
      charge: { outcome: { kind: 'value', value: { json: 1 } } },
      ship: { begun: 1 },
      mail: { outcome: { kind: 'not-stored', reason: 'too-large' } },
    };
    const record = { state: 'blocked', blockedWhy: 'failed', label: '7', note: 'time-out', holder: 'host 1', steps } as const;
    const { found } = await listing([{ record, ageMs: 5 }]).swept();
    expect(found).toStrictEqual([
      {
        kind: 'blocked',
        why: 'failed',
        id: 'r1_0',
        operation: 'orders/ship',
        label: '7',
        attempt: 2,
        ageMs: 5,
        createdAtMs: 1,
        steps: [
          { name: 'charge', state: 'done' },
          { name: 'ship', state: 'begun' },
          { name: 'mail', state: 'not-stored' },
        ],
        note: 'time-out',
        holder: 'host 1',
      },
    ]);
  });

  it('I6 not what may still be at work, by the clock of whoever holds it, and no lease', async () => {
    const alive = { record: {}, ageMs: 1_000 };
    const perhaps = { record: {}, ageMs: 3_000 };
    const lease = { record: { operation: LEASE_OPERATION }, ageMs: 99_000 };
    expect((await listing([alive, lease, LAPSED]).swept()).found.map(({ id }) => id)).toEqual(['r1_2']);
    expect((await listing([perhaps], 2_000).swept()).found).toEqual([]);
    expect((await listing([{ ...perhaps, ageMs: 3_001 }], 2_000).swept()).found).toHaveLength(1);
  });

  it.each<[Partial<SweepOptions>, object[]]>([
    [
      {},
      [
        { state: 'running', olderThanMs: 60_000 },
        { state: 'blocked', olderThanMs: 60_000 },
      ],
    ],
    [{ blocked: false }, [{ state: 'running', olderThanMs: 60_000 }]],
    [
      { operation: 'o', olderThanMs: 0 },
      [
        { state: 'running', olderThanMs: 0, operation: 'o' },
        { state: 'blocked', olderThanMs: 0, operation: 'o' },
      ],
    ],
  ])('%j: asks the store for what may be such a run, and for nothing else', async (options, queries) => {
    const at = listing([]);
    expect((await at.swept(options)).result).toStrictEqual({ lapsed: 0, blocked: 0, settled: 0, failures: [], more: false });
    expect(at.queries).toStrictEqual(queries);
  });
});

describe('where a sweep ends', () => {
  const many = (count: number): Row[] => Array.from({ length: count }, () => LAPSED);

  it('I10 at its limit, of both kinds together, and says whether there was more', async () => {
    expect((await listing([LAPSED, LAPSED, BLOCKED, BLOCKED]).swept({ limit: 3 })).result).toMatchObject({ lapsed: 2, blocked: 1, more: true });
    expect((await listing([LAPSED, BLOCKED, BLOCKED]).swept({ limit: 3 })).result).toMatchObject({ lapsed: 1, blocked: 2, more: false });
    expect((await listing(many(1_001)).swept()).result).toMatchObject({ lapsed: 1_000, more: true });
  });

  it('I10 in the last second of the invocation nothing new is shown', async () => {
    expect((await listing([LAPSED]).swept({ remainingMs: () => 1_000 })).result).toMatchObject({ lapsed: 1, more: false });
    expect((await listing([LAPSED]).swept({ remainingMs: () => 999 })).result).toMatchObject({ lapsed: 0, more: true });
  });

  it('I12 with its signal, also one that comes while somebody looks; one that does not come changes nothing', async () => {
    const controller = new AbortController();
    const { result, found } = await listing([LAPSED, LAPSED]).swept({ signal: controller.signal }, () => controller.abort());
    expect([result.lapsed, result.more, found.length]).toEqual([1, true, 1]);
    expect((await listing([LAPSED]).swept({ signal: new AbortController().signal })).result).toMatchObject({ lapsed: 1, more: false });
  });
});

describe('what is answered', () => {
  it('undefined, and to block what is blocked, writes nothing', async () => {
    const at = listing([LAPSED, BLOCKED]);
    const { result } = await at.swept({}, ({ kind }) => (kind === 'blocked' ? 'block' : undefined));
    expect([result.settled, at.written, result.failures]).toEqual([0, [], []]);
  });

  it.each([['maybe'], [null], [{}], [7], [{ value: 1 }], [false]])('%j is no answer: told, and nothing is written', async (answer) => {
    const at = listing([LAPSED]);
    const { result } = await at.swept({}, () => answer);
    expect(result).toMatchObject({
      settled: 0,
      failures: [
        {
          id: 'r1_0',
          error: { code: 'INVALID_OPTIONS', message: "sweep: the callback must answer { done: value }, 'not-done', 'block' or undefined." },
        },
      ],
    });
    expect(at.written).toEqual([]);
  });

  it.each<[object, string]>([
    [{ store: {} }, 'store must be an object with list, read, replace'],
    [{ operation: '' }, 'operation must be a string of 1 to 128'],
    [{ olderThanMs: -1 }, 'olderThanMs must be a whole number, at least 0'],
    [{ blocked: 'no' }, 'blocked must be true or false'],
    [{ limit: 0 }, 'limit must be a whole number, at least 1'],
    [{ remainingMs: 5 }, 'remainingMs must be a function'],
    [{ signal: {} }, 'signal must be an AbortSignal'],
    [{ store: undefined }, 'store is missing'],
    [{ why: 7 }, 'why must be a string of 1 to 1000'],
  ])('%j is refused in words, and nothing is listed', async (wrong, message) => {
    const at = listing([]);
    await expect(at.swept(wrong)).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining(`sweep: ${message}`) });
    expect(at.queries).toEqual([]);
  });

  it('without anybody to look it is refused, and nothing is listed', async () => {
    await expect(sweep({ store: { list() {}, read() {}, replace() {} } as never }, 'look' as never)).rejects.toMatchObject({
      code: 'INVALID_OPTIONS',
      message: 'sweep: the second argument must be a function.',
    });
  });
});
