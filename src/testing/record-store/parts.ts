import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { inParts } from '../../core/parts.ts';
import { PURGE_MIN_AGE_MS } from '../../core/ports.ts';
import type { InParts, RecordId, RecordToWrite } from '../../core/record.ts';
import { all, completed, freshId, freshOperation, put, type RecordStoreCase, type RecordStoreSubject, sample, written } from './subject.ts';

const KEEP_MS = 86_400_000;
const HOUR_MS = PURGE_MIN_AGE_MS;

/** Puts parts of an outcome of that owner, and gives the record that names them. */
async function beside({ store }: RecordStoreSubject, id: RecordId, changes: Partial<RecordToWrite> = {}) {
  const { limits, putPart } = store;
  assert.ok(limits.parts && putPart);
  const record = completed(changes);
  const text = randomBytes(Math.ceil(limits.inlineBytes / 2) + limits.parts.bytesEach / 2).toString('hex');
  const large = inParts({ kind: 'value', value: { json: text } }, record.owner, limits);
  assert.ok(large && large.parts.length > 1);
  for (const { name, bytes } of large.parts) await putPart(id, name, bytes, { keepMs: KEEP_MS });
  return { record: { ...record, outcome: large.outcome satisfies InParts }, names: large.parts.map(({ name }) => name) };
}

async function there({ store }: RecordStoreSubject, id: RecordId, names: readonly string[]): Promise<boolean[]> {
  return Promise.all(names.map(async (name) => (await store.readPart?.(id, name)) !== undefined));
}

const allThere = (names: readonly string[]): boolean[] => names.map(() => true);
const noneThere = (names: readonly string[]): boolean[] => names.map(() => false);

const stated: RecordStoreCase = {
  title: 'parts are stated in the limits where there are any, and only there',
  async run({ store: { limits, putPart, readPart } }) {
    const has = limits.parts !== undefined;
    assert.deepEqual([putPart !== undefined, readPart !== undefined], [has, has]);
    for (const limit of Object.values(limits.parts ?? {})) assert.ok(Number.isSafeInteger(limit) && limit > 0, `a limit is ${limit}`);
  },
};

const whereThereAreParts: readonly RecordStoreCase[] = [
  {
    title: 'a part comes back byte for byte, up to the largest; one that was never put is undefined',
    async run({ store }) {
      const id = freshId();
      const { bytesEach = 0 } = store.limits.parts ?? {};
      for (const [n, size] of [1, 1000, 64_000, 64_001, bytesEach].entries()) {
        const bytes = randomBytes(size);
        await store.putPart?.(id, `owner.hash.${n}`, bytes, { keepMs: KEEP_MS });
        const found = await store.readPart?.(id, `owner.hash.${n}`);
        assert.ok(found && Buffer.compare(found, bytes) === 0, `${size} bytes`);
      }
      assert.equal(await store.readPart?.(id, 'owner.hash.99'), undefined);
    },
  },
  {
    title: 'a part of a larger memory is kept alone, and putting it again is nothing new',
    async run({ store }) {
      const id = freshId();
      const bytes = randomBytes(4_000).subarray(1_000, 3_000);
      for (let time = 0; time < 2; time++) await store.putPart?.(id, 'owner.hash.0', bytes, { keepMs: KEEP_MS });
      assert.deepEqual(Buffer.from((await store.readPart?.(id, 'owner.hash.0')) ?? []), Buffer.from(bytes));
    },
  },
  {
    title: 'parts are no records: neither read, listed nor counted',
    async run(subject) {
      const { store } = subject;
      const [id, operation] = [freshId(), freshOperation()];
      const { record } = await beside(subject, id, { operation });
      assert.equal(await store.read(id), undefined);
      await put(store, id, record);
      assert.deepEqual(
        (await all(store, { operation })).map((listed) => listed.id),
        [id],
      );
    },
  },
  {
    title: 'purge removes parts with the record that names them, and counts records',
    async run(subject) {
      const { store, advance } = subject;
      const [id, operation] = [freshId(), freshOperation()];
      const { record, names } = await beside(subject, id, { operation, leaseMs: 1_000, retentionMs: 2_000 });
      await put(store, id, record);
      await advance?.(2 * HOUR_MS);
      const { removed } = await store.purge({ operation });
      assert.equal(removed, advance === undefined ? 0 : 1);
      assert.deepEqual(await there(subject, id, names), advance === undefined ? allThere(names) : noneThere(names));
    },
  },
  {
    title: 'purge spares parts that a record names, and those of an owner that may still complete',
    async run(subject) {
      const { store, advance } = subject;
      const [kept, running] = [freshId(), freshId()];
      const operation = freshOperation();
      const named = await beside(subject, kept, { operation, retentionMs: 100 * HOUR_MS });
      await put(store, kept, named.record);
      const early = await beside(subject, running, { operation });
      await put(store, running, sample({ operation, owner: early.record.owner, leaseMs: 1_000 }));
      await advance?.(2 * HOUR_MS);
      await store.purge({});
      for (const [id, names] of [
        [kept, named.names],
        [running, early.names],
      ] as const)
        assert.deepEqual(await there(subject, id, names), allThere(names));
    },
  },
  {
    title: 'purge spares parts that are younger than an hour: the record that names them may be under way',
    async run(subject) {
      const id = freshId();
      const { names } = await beside(subject, id);
      await subject.store.purge({});
      assert.deepEqual(await there(subject, id, names), allThere(names));
    },
  },
  {
    title: 'I4 purge removes parts that no record names any more: of a stale owner, of an outcome that was forgotten, of a record that is gone',
    async run(subject) {
      const { store, advance } = subject;
      const [stale, forgotten, gone] = [freshId(), freshId(), freshId()];
      const ofStale = await beside(subject, stale);
      await put(store, stale, sample({ leaseMs: 100 * HOUR_MS }));
      const ofForgotten = await beside(subject, forgotten);
      const { version } = await put(store, forgotten, ofForgotten.record);
      written(await store.replace(forgotten, sample({ state: 'released', retentionMs: 100 * HOUR_MS }), version));
      const ofGone = await beside(subject, gone);
      const receipt = await put(store, gone, ofGone.record);
      assert.ok((await store.delete(gone, receipt.version)).ok);
      await advance?.(2 * HOUR_MS);
      await store.purge({});
      for (const [id, names] of [
        [stale, ofStale.names],
        [forgotten, ofForgotten.names],
        [gone, ofGone.names],
      ] as const)
        assert.deepEqual(await there(subject, id, names), advance === undefined ? allThere(names) : noneThere(names));
    },
  },
];

/** Large outcomes beside their record; a store that has none keeps what fits into the record. */
export const partCases: readonly RecordStoreCase[] = [
  stated,
  ...whereThereAreParts.map(({ title, run }) => ({
    title: `(where there are parts) ${title}`,
    run: async (subject: RecordStoreSubject) => (subject.store.limits.parts === undefined ? undefined : run(subject)),
  })),
];
