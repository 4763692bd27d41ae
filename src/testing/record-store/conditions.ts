import assert from 'node:assert/strict';
import type { Written } from '../../core/ports.ts';
import { SCHEMA } from '../../core/record.ts';
import { assertSame, completed, conflict, freshId, put, type RecordStoreCase, rejectsWith, sample, written } from './subject.ts';

/** The four operations and what they answer when their condition does not hold. */
export const conditions: readonly RecordStoreCase[] = [
  {
    title: 'reading what was never written finds nothing',
    async run({ store }) {
      assert.equal(await store.read(freshId()), undefined);
    },
  },
  {
    title: 'create writes where nothing stands, and the record can be read at once',
    async run({ store }) {
      const [id, record] = [freshId(), sample()];
      const receipt = await put(store, id, record);
      assertSame(await store.read(id), record, receipt);
    },
  },
  {
    title: 'I1 create over a standing record is refused, changes nothing, and answers with that record',
    async run({ store }) {
      const [id, record] = [freshId(), sample({ steps: { first: { outcome: { kind: 'value', value: 1 } } } })];
      const receipt = await put(store, id, record);
      assertSame(conflict(await store.create(id, completed())).current, record, receipt);
      assertSame(await store.read(id), record, receipt);
    },
  },
  {
    title: 'I7 the same create sent again answers with our own revision, so that it can be recognised',
    async run({ store }) {
      const [id, record] = [freshId(), sample()];
      await put(store, id, record);
      assert.equal(conflict(await store.create(id, record)).current?.record.revision, record.revision);
    },
  },
  {
    title: 'replace writes over the version that stands, the whole record and no rest of the old one',
    async run({ store }) {
      const id = freshId();
      const rich = sample({ label: 'key', fingerprint: 'f', holder: 'h', slot: 5, steps: { a: { outcome: { kind: 'value', value: 'a' } } } });
      const first = await put(store, id, rich);
      const plain = sample({ state: 'released', attempt: 2, token: rich.token + 1 });
      const second = written(await store.replace(id, plain, first.version));
      assertSame(await store.read(id), plain, second);
    },
  },
  {
    title: 'I4 replace with a version that has passed is refused, changes nothing, and answers with what stands',
    async run({ store }) {
      const id = freshId();
      const first = await put(store, id, sample());
      const newer = completed({ token: 1_767_225_600_200 });
      const second = written(await store.replace(id, newer, first.version));
      assertSame(conflict(await store.replace(id, sample(), first.version)).current, newer, second);
      assertSame(await store.read(id), newer, second);
    },
  },
  {
    title: 'I7 the same replace sent again answers with our own revision',
    async run({ store }) {
      const id = freshId();
      const first = await put(store, id, sample());
      const own = completed();
      written(await store.replace(id, own, first.version));
      assert.equal(conflict(await store.replace(id, own, first.version)).current?.record.revision, own.revision);
    },
  },
  {
    title: 'replace where nothing stands is refused and told as absent; it never creates',
    async run({ store }) {
      const [id, other] = [freshId(), freshId()];
      const { version } = await put(store, other, sample());
      assert.equal(conflict(await store.replace(id, sample(), version)).current, undefined);
      assert.equal(await store.read(id), undefined);
    },
  },
  {
    title: 'delete removes the version that stands',
    async run({ store }) {
      const id = freshId();
      const { version } = await put(store, id, sample());
      assert.equal((await store.delete(id, version)).ok, true);
      assert.equal(await store.read(id), undefined);
    },
  },
  {
    title: 'I4 delete with a version that has passed is refused, changes nothing, and answers with what stands',
    async run({ store }) {
      const id = freshId();
      const first = await put(store, id, sample());
      const newer = completed();
      const second = written(await store.replace(id, newer, first.version));
      assertSame(conflict(await store.delete(id, first.version)).current, newer, second);
      assertSame(await store.read(id), newer, second);
    },
  },
  {
    title: 'delete where nothing stands is refused and told as absent',
    async run({ store }) {
      const id = freshId();
      const { version } = await put(store, id, sample());
      await store.delete(id, version);
      assert.equal(conflict(await store.delete(id, version)).current, undefined);
    },
  },
  {
    title: 'a version never repeats: not over writes of equal content, and not after delete and create',
    async run({ store }) {
      const [id, content] = [freshId(), sample()];
      const seen: string[] = [];
      for (let round = 0; round < 5; round += 1) {
        const first = await put(store, id, { ...content, revision: sample().revision });
        const second = written(await store.replace(id, { ...content, revision: sample().revision }, first.version));
        seen.push(first.version, second.version);
        assert.equal((await store.delete(id, second.version)).ok, true);
      }
      assert.equal(new Set(seen).size, seen.length, `a version came twice: ${seen.join(' ')}`);
    },
  },
  {
    title: 'I4 a version from before a delete opens nothing that was created afterwards',
    async run({ store }) {
      const [id, content] = [freshId(), sample()];
      const old = await put(store, id, content);
      await store.delete(id, old.version);
      const fresh = { ...content, revision: sample().revision };
      const receipt = await put(store, id, fresh);
      assertSame(conflict(await store.replace(id, completed(), old.version)).current, fresh, receipt);
      assertSame(conflict(await store.delete(id, old.version)).current, fresh, receipt);
    },
  },
  {
    title: 'every read after a write sees that write',
    async run({ store }) {
      const id = freshId();
      let { version } = await put(store, id, sample());
      for (let attempt = 2; attempt <= 20; attempt += 1) {
        const record = sample({ attempt });
        const receipt = written(await store.replace(id, record, version));
        assertSame(await store.read(id), record, receipt);
        version = receipt.version;
      }
    },
  },
  {
    title: 'ids are kept apart, those that differ only in case or in a sign too',
    async run({ store }) {
      const stem = freshId().slice(0, 43);
      const ids = ['abc', 'ABC', 'aBc', '-_-', '_-_', '---', '000'].map((end) => `${stem}${end}`);
      ids.push(`-${stem}-_`, `_${stem}-_`);
      const records = ids.map(() => sample());
      const receipts: Written[] = [];
      for (const [index, id] of ids.entries()) receipts.push(await put(store, id, records[index] as (typeof records)[number]));
      for (const [index, id] of ids.entries()) assertSame(await store.read(id), records[index] as (typeof records)[number], receipts[index]);
    },
  },
  {
    title: 'what was handed in or out is a copy: changing it changes nothing that is kept',
    async run({ store }) {
      const id = freshId();
      const value = { items: ['kept'] };
      const record = completed({ outcome: { kind: 'value', value } });
      await put(store, id, record);
      value.items.push('after the write');
      for (let round = 0; round < 2; round += 1) {
        const outcome = (await store.read(id))?.record.outcome;
        assert.deepEqual(outcome, { kind: 'value', value: { items: ['kept'] } });
        (outcome as unknown as { value: typeof value }).value.items.push('after the read');
      }
    },
  },
  {
    title: 'I12 a signal that has already aborted never writes',
    async run({ store }) {
      const [id, absent, record] = [freshId(), freshId(), sample()];
      const receipt = await put(store, id, record);
      const options = { signal: AbortSignal.abort() };
      await rejectsWith(store.create(absent, sample(), options), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN');
      await rejectsWith(store.replace(id, sample(), receipt.version, options), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN');
      await rejectsWith(store.delete(id, receipt.version, options), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN');
      assert.equal(await store.read(absent), undefined);
      assertSame(await store.read(id), record, receipt);
    },
  },
  {
    title: 'a record of a later schema is reported as RECORD_TOO_NEW, and left alone',
    async run({ store }) {
      const id = freshId();
      const { version } = await put(store, id, sample({ schema: SCHEMA + 98 }));
      await rejectsWith(store.read(id), 'RECORD_TOO_NEW');
      await rejectsWith(store.create(id, sample()), 'RECORD_TOO_NEW');
      await rejectsWith(store.read(id), 'RECORD_TOO_NEW');
      assert.equal((await store.delete(id, version)).ok, true);
    },
  },
  {
    title: 'setting up again is harmless',
    async run({ store }) {
      const [id, record] = [freshId(), sample()];
      await store.setUp?.();
      const receipt = await put(store, id, record);
      await store.setUp?.();
      assertSame(await store.read(id), record, receipt);
    },
  },
];
