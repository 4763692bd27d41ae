import assert from 'node:assert/strict';
import { type ListQuery, PURGE_MIN_AGE_MS, type Written } from '../../core/ports.ts';
import { FOREVER_MS, type RecordToWrite, type State } from '../../core/record.ts';
import { atOnce } from '../suite.ts';
import {
  all,
  assertSame,
  completed,
  conflict,
  freshId,
  freshOperation,
  put,
  type RecordStoreCase,
  type RecordStoreSubject,
  sample,
  written,
} from './subject.ts';

const STATES: readonly State[] = ['running', 'completed', 'released', 'blocked'];
const HOUR_MS = PURGE_MIN_AGE_MS;

/** Writes one record of each kind and gives their ids by name. */
async function fill<Name extends string>({ store }: RecordStoreSubject, records: Record<Name, RecordToWrite>): Promise<Record<Name, string>> {
  const ids = {} as Record<Name, string>;
  for (const [name, record] of Object.entries(records) as [Name, RecordToWrite][]) {
    ids[name] = freshId();
    await put(store, ids[name], record);
  }
  return ids;
}

async function standing({ store }: RecordStoreSubject, ids: Readonly<Record<string, string>>): Promise<string[]> {
  const names: string[] = [];
  for (const [name, id] of Object.entries(ids)) if ((await store.read(id)) !== undefined) names.push(name);
  return names.sort();
}

/** What purge may take in a table in which everything is `ageMs` old. Where a test cannot move the clock, everything is young and must stay. */
async function purged(
  subject: RecordStoreSubject,
  records: Record<string, RecordToWrite>,
  ageMs: number,
  lapsedOlderThanMs?: number,
): Promise<string[]> {
  const [first] = Object.values(records);
  assert.ok(first);
  const ids = await fill(subject, records);
  await subject.advance?.(ageMs);
  const { removed } = await subject.store.purge({
    operation: first.operation,
    ...(lapsedOlderThanMs === undefined ? {} : { lapsedOlderThanMs }),
  });
  const left = await standing(subject, ids);
  const gone = Object.keys(records).filter((name) => !left.includes(name));
  assert.equal(removed, gone.length, 'purge has to count what it removed');
  return gone.sort();
}

const assertPurged = (subject: RecordStoreSubject, gone: readonly string[], expected: readonly string[]): void =>
  assert.deepEqual(gone, subject.advance === undefined ? [] : [...expected].sort());

/** Listing and purging: for people and sweepers. */
export const cleaning: readonly RecordStoreCase[] = [
  {
    title: 'list gives each record of an operation once, with id and version to act on',
    async run({ store }) {
      const operation = freshOperation();
      const records = new Map(Array.from({ length: 60 }, () => [freshId(), sample({ operation })] as const));
      const receipts = new Map<string, Written>();
      for (const [id, record] of records) receipts.set(id, await put(store, id, record));
      await put(store, freshId(), sample({ operation: `${operation}/other` }));
      const listed = await all(store, { operation });
      assert.deepEqual(listed.map(({ id }) => id).sort(), [...records.keys()].sort());
      for (const found of listed) assertSame(found, records.get(found.id) as RecordToWrite, receipts.get(found.id));
      const [one] = listed;
      assert.ok(one);
      written(await store.replace(one.id, completed({ operation }), one.version));
    },
  },
  {
    title: 'list takes an operation literally, signs of a query language too',
    async run({ store }) {
      const operation = `${freshOperation()}' or '1'='1 % _ * "`;
      const id = freshId();
      await put(store, id, sample({ operation }));
      assert.deepEqual(
        (await all(store, { operation })).map((found) => found.id),
        [id],
      );
      assert.deepEqual(await all(store, { operation: `${operation}x` }), []);
    },
  },
  {
    title: 'list without an operation covers all of them',
    async run({ store }) {
      const ids = [freshId(), freshId()];
      for (const id of ids) await put(store, id, sample({ operation: freshOperation() }));
      const found = new Set((await all(store, {})).map(({ id }) => id));
      assert.ok(ids.every((id) => found.has(id)));
    },
  },
  {
    title: 'list by state gives that state only',
    async run(subject) {
      const operation = freshOperation();
      const ids = await fill(
        subject,
        Object.fromEntries(STATES.map((state) => [state, sample({ operation, state })])) as Record<State, RecordToWrite>,
      );
      for (const state of STATES) {
        assert.deepEqual(
          (await all(subject.store, { operation, state })).map(({ id }) => id),
          [ids[state]],
        );
      }
    },
  },
  {
    title: 'list by scope gives what is kept for that scope only, with or without an operation',
    async run(subject) {
      const [operation, scope] = [freshOperation(), freshId()];
      const ids = await fill(subject, {
        ours: sample({ operation, scope }),
        theirs: sample({ operation, scope: freshId() }),
        nobodys: sample({ operation }),
        elsewhere: completed({ operation: freshOperation(), scope }),
      });
      const found = async (query: ListQuery): Promise<string[]> => (await all(subject.store, query)).map(({ id }) => id).sort();
      assert.deepEqual(await found({ scope }), [ids.ours, ids.elsewhere].sort());
      assert.deepEqual(await found({ scope, operation }), [ids.ours]);
      assert.deepEqual(await found({ scope, state: 'completed' }), [ids.elsewhere]);
    },
  },
  {
    title: 'list by age gives only what was written longer ago',
    async run(subject) {
      const { store, advance } = subject;
      const operation = freshOperation();
      const old = freshId();
      await put(store, old, sample({ operation }));
      await advance?.(2 * HOUR_MS);
      await put(store, freshId(), sample({ operation }));
      assert.deepEqual(
        (await all(store, { operation, olderThanMs: HOUR_MS })).map(({ id }) => id),
        advance === undefined ? [] : [old],
      );
      assert.equal((await all(store, { operation })).length, 2);
    },
  },
  {
    title: 'I12 a list that is left early ends at once',
    async run({ store }) {
      const operation = freshOperation();
      for (let n = 0; n < 5; n += 1) await put(store, freshId(), sample({ operation }));
      let seen = 0;
      for await (const _ of store.list({ operation })) {
        seen += 1;
        break;
      }
      assert.equal(seen, 1);
    },
  },
  {
    title: 'I3 purge removes completed and released records older than their retention, and no others',
    async run(subject) {
      const operation = freshOperation();
      const retentionMs = 2 * HOUR_MS;
      const gone = await purged(
        subject,
        {
          expiredValue: completed({ operation, retentionMs }),
          expiredRelease: sample({ operation, state: 'released', retentionMs }),
          stillKept: completed({ operation, retentionMs: 5 * HOUR_MS }),
          running: sample({ operation, leaseMs: 1000, retentionMs }),
          runningUnknown: sample({ operation, leaseMs: 0, retentionMs }),
          blocked: sample({ operation, state: 'blocked', retentionMs }),
          forever: completed({ operation, retentionMs: FOREVER_MS }),
          foreverReleased: sample({ operation, state: 'released', retentionMs: FOREVER_MS }),
        },
        3 * HOUR_MS,
      );
      assertPurged(subject, gone, ['expiredValue', 'expiredRelease']);
    },
  },
  {
    title: 'purge spares what is younger than an hour, expired or lapsed',
    async run(subject) {
      const operation = freshOperation();
      const records = {
        expired: completed({ operation, leaseMs: 0, retentionMs: 1 }),
        released: sample({ operation, state: 'released', leaseMs: 0, retentionMs: 1 }),
        lapsed: sample({ operation, leaseMs: 1, retentionMs: 2 }),
        unknown: sample({ operation, leaseMs: 0, retentionMs: 1 }),
      };
      assert.deepEqual(await purged(subject, records, HOUR_MS - 60_000, 0), []);
    },
  },
  {
    title: 'I8 purge takes lapsed records only when asked, only older than asked, and never a lease row',
    async run(subject) {
      const operation = freshOperation();
      const gone = await purged(
        subject,
        {
          longLapsed: sample({ operation, leaseMs: 60_000 }),
          unknown: sample({ operation, leaseMs: 0 }),
          justLapsed: sample({ operation, leaseMs: 2 * HOUR_MS }),
          held: sample({ operation, leaseMs: 9 * HOUR_MS }),
          blocked: sample({ operation, state: 'blocked', leaseMs: 60_000 }),
          leaseRow: sample({ operation, leaseMs: 60_000, retentionMs: FOREVER_MS }),
          leaseRowReleased: sample({ operation, state: 'released', leaseMs: 0, retentionMs: FOREVER_MS }),
        },
        3 * HOUR_MS,
        2 * HOUR_MS,
      );
      assertPurged(subject, gone, ['longLapsed', 'unknown']);
    },
  },
  {
    title: 'purge of one operation leaves the others alone, and stops at its limit',
    async run(subject) {
      const { store, advance } = subject;
      const [operation, other] = [freshOperation(), freshOperation()];
      const expired = (name: string) => completed({ operation: name, retentionMs: 60_000 });
      const ids = await fill(subject, { a: expired(operation), b: expired(operation), c: expired(operation), d: expired(other) });
      await advance?.(2 * HOUR_MS);
      const removed = advance === undefined ? [0, 0, 0] : [2, 1, 0];
      for (const expected of removed) assert.deepEqual(await store.purge({ operation, limit: 2 }), { removed: expected });
      assert.deepEqual(await standing(subject, ids), advance === undefined ? ['a', 'b', 'c', 'd'] : ['d']);
    },
  },
  {
    title: 'I1 purge never takes a record that was written again while it ran',
    async run(subject) {
      const { store, advance } = subject;
      const operation = freshOperation();
      const rows: { id: string; version: string }[] = [];
      for (let n = 0; n < 40; n += 1) {
        const id = freshId();
        rows.push({ id, version: (await put(store, id, completed({ operation, retentionMs: 60_000 }))).version });
      }
      await advance?.(2 * HOUR_MS);
      const claim = sample({ operation });
      const purging = store.purge({ operation });
      const results = await atOnce(rows.length, async (n) => {
        const { id, version } = rows[rows.length - 1 - n] as (typeof rows)[number];
        return { id, result: await store.replace(id, { ...claim, revision: sample().revision }, version) };
      });
      const { removed } = await purging;
      for (const { id, result } of results) {
        if (result.ok) assert.equal((await store.read(id))?.version, result.version, 'purge removed a row that had been claimed');
        else assert.equal(conflict(result).current, undefined);
      }
      assert.equal(removed, results.filter(({ result }) => !result.ok).length);
    },
  },
];
