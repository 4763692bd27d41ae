import { describe, expect, it } from 'vitest';
import { RerunSafeError } from '../../../src/core/errors.ts';
import { isPartName, partNames } from '../../../src/core/parts.ts';
import type { Conflict, Listed, PurgeQuery, Stored, Written } from '../../../src/core/ports.ts';
import { isOrphan, isPurgeable, purgeListed, readUnlessTooNew, unlessTooNew } from '../../../src/core/purge.ts';
import { FOREVER_MS, type Outcome, type RecordId, type StoredRecord } from '../../../src/core/record.ts';

const HOUR = 3_600_000;
const LEASE = 1_000;
const UNCERTAIN = 100;
const OWNER = '0'.repeat(36);
const HASH = 'h'.repeat(43);
const PARTS: Outcome = { kind: 'parts', of: 'value', owner: OWNER, hash: HASH, bytes: 5, count: 2 };
const PART = `${OWNER}.${HASH}.0`;

function stored(over: Partial<StoredRecord>, ageMs: number): Stored {
  const record: StoredRecord = {
    schema: 1,
    operation: 'o',
    scope: '',
    state: 'completed',
    owner: 'a',
    revision: 'r',
    token: 7,
    attempt: 1,
    leaseMs: LEASE,
    retentionMs: 2 * HOUR,
    createdAtMs: 1,
    writtenAtMs: 1,
    ...over,
  };
  return { record, version: 'v', ageMs };
}
const due = (over: Partial<StoredRecord>, ageMs: number, query: PurgeQuery = {}): boolean => isPurgeable(stored(over, ageMs), query, UNCERTAIN);

describe('what a clean-up may remove', () => {
  it.each(['completed', 'released'] as const)('I3 %s: once its retention is over', (state) => {
    expect([due({ state }, 2 * HOUR + UNCERTAIN), due({ state }, 2 * HOUR + UNCERTAIN + 1)]).toEqual([false, true]);
  });

  it('I5 never what is younger than an hour: a late copy of a request must not find its row gone', () => {
    const short = { retentionMs: 2 * LEASE };
    expect([due(short, HOUR - 1), due(short, HOUR)]).toEqual([false, true]);
    expect(due({ state: 'running' }, HOUR - 1, { lapsedOlderThanMs: 0 })).toBe(false);
  });

  it('I8 what waits for a person stays, and so does what lapsed, unless it is asked for by its age since then', () => {
    expect(due({ state: 'blocked' }, 1_000 * HOUR, { lapsedOlderThanMs: 0 })).toBe(false);
    expect(due({ state: 'running' }, 1_000 * HOUR)).toBe(false);
    const at = (ageMs: number, lapsedOlderThanMs: number): boolean => due({ state: 'running' }, ageMs, { lapsedOlderThanMs });
    expect([at(HOUR + LEASE + UNCERTAIN, HOUR), at(HOUR + LEASE + UNCERTAIN + 1, HOUR)]).toEqual([false, true]);
    expect(at(HOUR, 0)).toBe(true);
    expect(due({ state: 'running', leaseMs: 2 * HOUR }, HOUR + 1, { lapsedOlderThanMs: 0 }), 'still alive').toBe(false);
  });

  it('I5 the row of a lease is kept for ever, with its token', () => {
    for (const state of ['running', 'released'] as const) {
      expect(due({ state, retentionMs: FOREVER_MS }, 1_000 * HOUR, { lapsedOlderThanMs: 0 })).toBe(false);
    }
  });

  it.each([
    ['named by nobody: its record is gone', undefined, true],
    ['named by the record', stored({ outcome: PARTS }, 0), false],
    ['another is named', stored({ outcome: { ...PARTS, hash: 'i'.repeat(43) } }, 0), true],
    ['of an owner that may still complete', stored({ state: 'running', owner: OWNER }, 0), false],
    ['of an owner that was taken over', stored({ state: 'running' }, 0), true],
    ['of an owner that is over', stored({ state: 'released', owner: OWNER }, 0), true],
  ])('I2 a part %s', (_, standing, goes) => {
    expect(isOrphan(PART, HOUR, standing)).toBe(goes);
    expect(isOrphan(PART, HOUR - 1, standing), 'too young').toBe(false);
    expect(isOrphan(PART, Number.NaN, standing), 'no age').toBe(false);
    expect(isOrphan('something else', HOUR, standing), 'none of ours').toBe(false);
  });

  it.each([
    [PART, true],
    [`${OWNER}.${HASH}.1234`, true],
    [`${OWNER}.${HASH}.12345`, false],
    [`${OWNER}.${HASH}.`, false],
    [`${OWNER}.${HASH}.x`, false],
    [`${'a'.repeat(19)}.${HASH}.0`, false],
    [`${'a'.repeat(20)}.${HASH}.0`, true],
    [`${OWNER}.${HASH}h.0`, false],
    [`${OWNER}.${HASH.slice(1)}.0`, false],
    [`x/${PART}`, false],
    [`${PART}/x`, false],
    [`${OWNER}x${HASH}.0`, false],
  ])('I2 %s: whether it is the name of a part', (name, is) => {
    expect(isPartName(name)).toBe(is);
  });

  it('I3 a record of a later schema is left alone; any other failure is told', async () => {
    const tooNew = (): never => {
      throw new RerunSafeError('RECORD_TOO_NEW', 'later');
    };
    const fails = (): never => {
      throw new RerunSafeError('STORE_UNAVAILABLE', 'down');
    };
    expect([unlessTooNew(tooNew), unlessTooNew(() => 5)]).toEqual([[], [5]]);
    expect(() => unlessTooNew(fails)).toThrow('down');
    expect(await readUnlessTooNew(async () => tooNew())).toEqual([]);
    expect(await readUnlessTooNew(async () => undefined)).toEqual([undefined]);
    await expect(readUnlessTooNew(async () => fails())).rejects.toThrow('down');
  });
});

describe('a clean-up', () => {
  const listed = (n: number, over: Partial<StoredRecord> = {}, ageMs = 3 * HOUR): Listed => ({
    ...stored(over, ageMs),
    id: `r1_${n}` as RecordId,
    version: `v${n}`,
  });
  async function* all(rows: readonly Listed[], seen: number[] = []): AsyncGenerator<Listed> {
    for (const [n, row] of rows.entries()) {
      seen.push(n);
      yield row;
    }
  }
  const rows = (count: number): Listed[] => Array.from({ length: count }, (_, n) => listed(n));
  const gone: Written = { ok: true, version: '' };

  /** What was removed, how many at once, and how far the list was read. */
  async function cleaned(found: readonly Listed[], query: PurgeQuery = {}, remove: (id: RecordId) => Promise<Written | Conflict> = async () => gone) {
    const removed: [RecordId, string][] = [];
    const parts: string[] = [];
    const seen: number[] = [];
    let underWay = 0;
    let most = 0;
    const result = await purgeListed(
      all(found, seen),
      async (id, version) => {
        underWay += 1;
        most = Math.max(most, underWay);
        await Promise.resolve();
        underWay -= 1;
        removed.push([id, version]);
        return remove(id);
      },
      query,
      UNCERTAIN,
      async (_, name) => void parts.push(name),
    ).catch((error: unknown) => error);
    return { result, removed, parts, most, seen: seen.length };
  }

  it('I3 removes what is due, on condition of the version it saw, and says how many', async () => {
    const { result, removed } = await cleaned([listed(0), listed(1, { state: 'blocked' }), listed(2)]);
    expect(result).toEqual({ removed: 2 });
    expect(removed).toEqual([
      ['r1_0', 'v0'],
      ['r1_2', 'v2'],
    ]);
  });

  it('I4 what changed meanwhile is not counted, and its parts stay', async () => {
    const { result, parts } = await cleaned([listed(0, { outcome: PARTS })], {}, async () => ({ ok: false, reason: 'conflict', current: undefined }));
    expect([result, parts]).toEqual([{ removed: 0 }, []]);
  });

  it('I2 parts go with the record that names them', async () => {
    const { result, parts } = await cleaned([listed(0, { outcome: PARTS }), listed(1)]);
    expect([result, parts]).toEqual([{ removed: 1 + 1 }, partNames(PARTS)]);
    expect(await purgeListed(all([listed(0, { outcome: PARTS })]), async () => gone, {}, UNCERTAIN)).toEqual({ removed: 1 });
  });

  it('I10 sixteen at once, no more', async () => {
    const { result, most } = await cleaned(rows(40));
    expect([result, most]).toEqual([{ removed: 40 }, 16]);
  });

  it.each([
    [0, 0, 0],
    [-1, 0, 0],
    [1, 1, 1],
    [17, 17, 17],
    [40, 40, 40],
    [50, 40, 40],
  ])('I10 with a limit of %d: %d are removed, and no more than that is read', async (limit, removed, seen) => {
    expect(await cleaned(rows(40), { limit })).toMatchObject({ result: { removed }, seen });
  });

  it('I12 a failure is told when all deletes of its batch have ended, and nothing is removed after it', async () => {
    const failure = new Error('down');
    const { result, removed } = await cleaned(rows(40), {}, async (id) => {
      if (id === 'r1_3') throw failure;
      return gone;
    });
    expect(result).toBe(failure);
    expect(removed).toHaveLength(16);
  });
});
