import assert from 'node:assert/strict';
import { conflict, freshId, pass, put, type RecordStoreCase, type RecordStoreSubject, sample, written } from './subject.ts';

/** Some services tell the time in whole seconds (the Date of an answer). */
const RESOLUTION_MS = 1000;
/** Long enough to be seen through that resolution. */
const WAIT_MS = 2 * RESOLUTION_MS + 200;
/** An answer may be slow on a busy machine. */
const SLOW_ANSWER_MS = 5000;

const toleranceMs = ({ store, advance }: RecordStoreSubject): number => store.clock.uncertaintyMs + (advance === undefined ? SLOW_ANSWER_MS : 0);

async function ageOf({ store }: RecordStoreSubject, id: string): Promise<number> {
  const found = await store.read(id);
  assert.ok(found);
  return found.ageMs;
}

/** Ages are what leases and retention are judged by; they come from one clock, and never from what the caller claims. */
export const ageing: readonly RecordStoreCase[] = [
  {
    title: 'I6 a record that was just written is young, whatever its caller says about the time',
    async run(subject) {
      const dayMs = 86_400_000;
      for (const createdAtMs of [0, Date.now() - dayMs, Date.now() + dayMs, 4_102_444_800_000]) {
        const id = freshId();
        await put(subject.store, id, sample({ createdAtMs }));
        const ageMs = await ageOf(subject, id);
        assert.ok(ageMs >= 0 && ageMs <= toleranceMs(subject), `just written, and ${ageMs} ms old`);
      }
    },
  },
  {
    title: 'writtenAtMs is the time of the store at the write, as nowMs() tells it',
    async run(subject) {
      const { store } = subject;
      const id = freshId();
      await put(store, id, sample());
      const found = await store.read(id);
      const apartMs = Math.abs(store.clock.nowMs() - (found?.record.writtenAtMs ?? 0));
      assert.ok(apartMs <= toleranceMs(subject) + RESOLUTION_MS, `written at a time ${apartMs} ms away from nowMs()`);
      assert.ok(Number.isFinite(store.clock.uncertaintyMs) && store.clock.uncertaintyMs >= 0);
    },
  },
  {
    title: 'nowMs() moves on by itself, and without a request',
    async run(subject) {
      const { store } = subject;
      const beforeMs = store.clock.nowMs();
      await pass(subject, 50);
      const passedMs = store.clock.nowMs() - beforeMs;
      assert.ok(passedMs >= 45 && passedMs <= 50 + toleranceMs(subject), `50 ms passed, nowMs() moved by ${passedMs}`);
    },
  },
  {
    title: 'I6 the age grows with time, alike for read, conflict and list',
    async run(subject) {
      const { store } = subject;
      const [id, record] = [freshId(), sample({ operation: `ageing/${freshId()}` })];
      await put(store, id, record);
      const youngMs = await ageOf(subject, id);
      await pass(subject, WAIT_MS);
      const ages = [await ageOf(subject, id), conflict(await store.create(id, sample())).current?.ageMs];
      for await (const listed of store.list({ operation: record.operation })) ages.push(listed.ageMs);
      assert.equal(ages.length, 3);
      for (const ageMs of ages) {
        assert.ok(
          ageMs !== undefined && ageMs - youngMs >= WAIT_MS - RESOLUTION_MS,
          `${WAIT_MS} ms passed, the age went from ${youngMs} to ${ageMs}`,
        );
        assert.ok(ageMs <= WAIT_MS + toleranceMs(subject));
      }
    },
  },
  {
    title: 'I6 the age starts again at every write: that is what renewing is',
    async run(subject) {
      const { store } = subject;
      const [id, record] = [freshId(), sample()];
      const first = await put(store, id, record);
      await pass(subject, WAIT_MS);
      const oldMs = await ageOf(subject, id);
      written(await store.replace(id, { ...record, revision: sample().revision }, first.version));
      const renewedMs = await ageOf(subject, id);
      assert.ok(
        oldMs - renewedMs >= WAIT_MS - RESOLUTION_MS - (subject.advance === undefined ? SLOW_ANSWER_MS / 10 : 0),
        `the age went from ${oldMs} to ${renewedMs} by a write`,
      );
    },
  },
  {
    title: 'a refused write leaves the age alone',
    async run(subject) {
      const { store } = subject;
      const id = freshId();
      const passed = await put(store, id, sample());
      written(await store.replace(id, sample(), passed.version));
      await pass(subject, WAIT_MS);
      const ageMs = conflict(await store.create(id, sample())).current?.ageMs ?? 0;
      conflict(await store.replace(id, sample(), passed.version));
      assert.ok(ageMs >= WAIT_MS - RESOLUTION_MS && (await ageOf(subject, id)) >= ageMs);
    },
  },
];
