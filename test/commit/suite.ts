import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyParts, recordId } from '../../src/core/key.ts';
import type { Stored } from '../../src/core/ports.ts';
import { isLapsed } from '../../src/core/record.ts';
import { memoryStore, type Run, type RunOnceOptions, runOnce, tryRunOnce } from '../../src/index.ts';
import { incompressible } from '../support/incompressible.ts';
import { gate, until } from '../support/promises-case.ts';
import type { CommitPlace } from './places.ts';

const OPERATION = 'test/commit';

export interface Nonsense {
  /** What cannot be in one transaction with the completion, for a row of this name. */
  readonly items: readonly (readonly [string, (row: string) => unknown])[];
  readonly good: (row: string) => unknown;
}

/** What `commitWith` promises on every store. */
export function commitSuite(name: string, start: () => Promise<CommitPlace>, nonsense: Nonsense): void {
  describe(`commitWith on ${name}`, () => {
    let place: CommitPlace;
    beforeAll(async () => {
      place = await start();
    });
    afterAll(() => place?.stop());

    const fresh = (more: Partial<RunOnceOptions> = {}) => {
      const key = randomUUID();
      const id = recordId(OPERATION, [], keyParts(key));
      const options: RunOnceOptions = { store: place.store, operation: OPERATION, key, ...more };
      return {
        row: `row-${key}`,
        run: (work: (run: Run) => unknown, other: Partial<RunOnceOptions> = {}) => tryRunOnce<unknown>({ ...options, ...other }, work),
        stands: (): Promise<Stored | undefined> => place.store.read(id),
        remove: async () => place.store.delete(id, (await place.store.read(id))?.version ?? ''),
      };
    };

    it('I1 I3 the value and the row stand together, and a later call replays the value and writes nothing', async () => {
      const { run, row, stands } = fresh();
      const receipt = { total: 7, at: new Date(0) };
      const seen: unknown[] = [];
      const first = await run(async (at) => {
        await place.commit(at, receipt, row);
        seen.push((await stands())?.record.state, await place.times(row));
        return 'what is returned afterwards';
      });
      expect(seen).toEqual(['completed', 1]);
      expect(first).toEqual({ kind: 'completed', value: receipt, replayed: false, saved: true, attempt: 1 });
      expect(await run(() => 'again')).toMatchObject({ value: receipt, replayed: true });
      expect(await place.times(row)).toBe(1);
    });

    it('I1 I2 of 16 callers at once one writes its row, and all have its value', async () => {
      const { run, row } = fresh({ onInFlight: { waitMs: 20_000 } });
      const results = await Promise.all(
        Array.from({ length: 16 }, (_, n) =>
          run(async (at) => {
            await place.commit(at, n, row);
            return n;
          }),
        ),
      );
      const values = new Set(results.map((result) => (result.kind === 'completed' ? result.value : result.kind)));
      expect([...values]).toEqual([expect.any(Number)]);
      expect(results.filter((result) => result.kind === 'completed' && !result.replayed)).toHaveLength(1);
      expect(await place.times(row)).toBe(1);
    });

    it("I8 a rule of the caller's that fails: its own error, untouched, nothing is written, and the run goes on to commit something else", async () => {
      const { run, row, stands } = fresh();
      await place.write(row);
      const result = await run(async (at) => {
        const error = await place.commit(at, 'one', row, { onlyNew: true }).catch((thrown: unknown) => thrown);
        expect(place.isTaken(error)).toBe(true);
        expect((await stands())?.record).toMatchObject({ state: 'running', attempt: 1 });
        at.assertHeld();
        await place.commit(at, 'two', `${row}-2`, { onlyNew: true });
      });
      expect(result).toMatchObject({ kind: 'completed', value: 'two', saved: true });
      expect([await place.times(row), await place.times(`${row}-2`)]).toEqual([1, 1]);
      expect(await run(() => 'again')).toMatchObject({ value: 'two', replayed: true });
    });

    it('I8 a work that lets that error through fails with it, and a later attempt succeeds', async () => {
      const { run, row, stands } = fresh();
      await place.write(row);
      const failing = run((at) => place.commit(at, 'one', row, { onlyNew: true }));
      expect(place.isTaken(await failing.catch((error: unknown) => error))).toBe(true);
      expect((await stands())?.record.state).toBe('released');
      const later = await run(async (at) => {
        await place.commit(at, 'two', `${row}-2`, { onlyNew: true });
      });
      expect(later).toMatchObject({ value: 'two', attempt: 2 });
    });

    it('I4 taken over meanwhile: LEASE_LOST, and nothing of the old owner is written', async () => {
      const { run, row, stands } = fresh();
      const [started, resume] = [gate(), gate()];
      const first = run(
        async (at) => {
          started.open();
          await resume.opened;
          await place.commit(at, 'the old owner', row);
        },
        { leaseMs: 1_500, renew: 'none' },
      );
      first.catch(() => {});
      await started.opened;
      await until('the lease has run out', async () => {
        const standing = await stands();
        return standing !== undefined && isLapsed(standing.record, standing.ageMs, place.store.clock.uncertaintyMs);
      });
      const second = await run(async (at) => {
        await place.commit(at, 'the successor', `${row}-2`);
      });
      expect(second).toMatchObject({ value: 'the successor', replayed: false });
      const settled = await stands();
      resume.open();
      await expect(first).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect([await place.times(row), await place.times(`${row}-2`)]).toEqual([0, 1]);
      expect((await stands())?.version).toBe(settled?.version);
    });

    it('I4 a successor that is still at work loses nothing to the old owner either', async () => {
      const { run, row, stands } = fresh();
      const [started, resume] = [gate(), gate()];
      const first = run(
        async (at) => {
          started.open();
          await resume.opened;
          await place.commit(at, 'the old owner', row);
        },
        { leaseMs: 1_500, renew: 'none' },
      );
      first.catch(() => {});
      await started.opened;
      await until('the lease has run out', async () => {
        const standing = await stands();
        return standing !== undefined && isLapsed(standing.record, standing.ageMs, place.store.clock.uncertaintyMs);
      });
      const second = await run(async (at) => {
        resume.open();
        await expect(first).rejects.toMatchObject({ code: 'LEASE_LOST' });
        expect(await place.times(row)).toBe(0);
        await place.commit(at, 'the successor', row);
      });
      expect(second).toMatchObject({ value: 'the successor' });
      expect(await place.times(row)).toBe(1);
    });

    it('I3 what the work throws after the commit changes nothing', async () => {
      const { run, row } = fresh();
      const result = await run(async (at) => {
        await place.commit(at, 'committed', row);
        throw new Error('afterwards');
      });
      expect(result).toMatchObject({ value: 'committed', saved: true });
      expect(await run(() => 'again')).toMatchObject({ value: 'committed', replayed: true });
    });

    it('I1 a second commit of one run is refused, and writes nothing', async () => {
      const { run, row } = fresh();
      await run(async (at) => {
        await place.commit(at, 'one', row);
        await expect(place.commit(at, 'two', `${row}-2`)).rejects.toMatchObject({ code: 'DUPLICATE_STEP' });
      });
      expect([await place.times(row), await place.times(`${row}-2`)]).toEqual([1, 0]);
    });

    it.each([
      ['is too large', incompressible(17_000_000)],
      ['does not come back as it is', { handler: () => {} }],
    ])('I3 a value that %s is left out: the row stands, the first caller has the value, and the work is not done again', async (_, value) => {
      const { run, row } = fresh();
      const first = await run(async (at) => {
        await place.commit(at, value, row);
      });
      expect(first).toMatchObject({ kind: 'completed', saved: true });
      expect((first as { value: unknown }).value).toBe(value);
      expect(await place.times(row)).toBe(1);
      await expect(run(() => 'again')).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
    });

    it('I7 steps and renewals have moved the record: the commit is written over what stands', async () => {
      const { run, row, stands } = fresh({ leaseMs: 2_000 });
      const result = await run(async (at) => {
        await at.step('first', () => 1);
        const before = (await stands())?.version;
        await until('it was renewed', async () => (await stands())?.version !== before);
        await place.commit(at, 'committed', row);
      });
      expect(result).toMatchObject({ value: 'committed', saved: true, attempt: 1 });
      expect(await place.times(row)).toBe(1);
    });

    it('I3 the record was removed meanwhile: the commit makes it again, with the row', async () => {
      const { run, row, stands, remove } = fresh();
      await run(async (at) => {
        await remove();
        await place.commit(at, 'committed', row);
      });
      expect([(await stands())?.record.state, await place.times(row)]).toEqual(['completed', 1]);
    });

    it('a store that was spread from another commits too', async () => {
      const { run, row } = fresh({ store: { ...place.store, name: 'a copy' } });
      await run(async (at) => {
        await place.commit(at, 'committed', row);
      });
      expect(await run(() => 'again')).toMatchObject({ value: 'committed', replayed: true });
    });

    it.each(nonsense.items)('%s is INVALID_OPTIONS; nothing is written, and the run goes on', async (_, items) => {
      const { run, row, stands } = fresh();
      const result = await run(async (at) => {
        await expect(place.commitRaw(at, 'one', items(row))).rejects.toMatchObject({ code: 'INVALID_OPTIONS' });
        expect((await stands())?.record.state).toBe('running');
        return 'returned';
      });
      expect(result).toMatchObject({ value: 'returned' });
      expect(await place.times(row)).toBe(0);
    });

    it('options that are none, a run that is none, a store of another kind and messages without an outbox are told, and nothing is written', async () => {
      const { run, row } = fresh();
      const invalid = (what: RegExp) => ({ code: 'INVALID_OPTIONS', message: expect.stringMatching(what) });
      await expect(place.commitRaw({} as Run, 1, nonsense.good(row))).rejects.toMatchObject(invalid(/the run must be/));
      await expect(run((at) => place.commitRaw(at, 1, nonsense.good(row), { tableName: 'x' }))).rejects.toMatchObject(invalid(/not an option/));
      const options = { store: memoryStore(), operation: OPERATION, key: row };
      await expect(runOnce(options, (at) => place.commit(at, 1, row))).rejects.toMatchObject(invalid(/the store "memory"/));
      const { store } = place;
      const wrapped = { ...options, store: { name: 'wrapper', limits: store.limits, clock: store.clock, list: store.list, purge: store.purge } };
      const { read, create, replace } = store;
      const wrapper = Object.assign(wrapped.store, { read, create, replace, delete: store.delete });
      await expect(runOnce({ ...options, store: wrapper }, (at) => place.commit(at, 1, row))).rejects.toMatchObject(invalid(/spread from it/));
      expect(await place.times(row)).toBe(0);
    });

    it('I12 a signal that aborts: its reason, nothing written; the run may go on', async () => {
      const { run, row } = fresh();
      const reason = new Error('the user has gone');
      const result = await run(async (at) => {
        const error = await place.commit(at, 'one', row, { signal: AbortSignal.abort(reason) }).catch((thrown: unknown) => thrown);
        expect(error).toBe(reason);
        return 'returned';
      });
      expect(result).toMatchObject({ value: 'returned' });
      expect(await place.times(row)).toBe(0);
    });
  });
}
