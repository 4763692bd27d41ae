import assert from 'node:assert/strict';
import type { RecordWrite, WriteResult } from '../../core/ports.ts';
import {
  assertSame,
  completed,
  conflict,
  freshId,
  put,
  type RecordStoreCase,
  type RecordStoreSubject,
  sample,
  tooLarge,
  written,
} from './subject.ts';

async function writeAll({ store }: RecordStoreSubject, writes: readonly RecordWrite[]): Promise<WriteResult[]> {
  const { batch } = store;
  assert.ok(batch);
  assert.equal(batch.create, store.create, 'a batch stands for the create of its store');
  assert.equal(batch.replace, store.replace, 'a batch stands for the replace of its store');
  const answers = batch.writeAll(writes);
  assert.equal(answers.length, writes.length, 'an answer for each write');
  const alone = ({ id, record, version }: RecordWrite): Promise<WriteResult> =>
    version === undefined ? store.create(id, record) : store.replace(id, record, version);
  return Promise.all(writes.map(async (write, n) => (await answers[n]) ?? alone(write)));
}

const at = (answers: readonly WriteResult[], n: number): WriteResult => answers[n] as WriteResult;
const RACES = 10;
const RACERS = 4;
const RACED = 12;

const whereTheyAreTaken: readonly RecordStoreCase[] = [
  {
    title: 'several that are made at once can all be read at once, each as it was written',
    async run(subject) {
      const writes = Array.from({ length: 20 }, (_, n) => ({ id: freshId(), record: completed({ label: `é"\\,{}\n${n}`, attempt: n + 1 }) }));
      const answers = await writeAll(subject, writes);
      for (const [n, { id, record }] of writes.entries()) assertSame(await subject.store.read(id), record, written(at(answers, n)));
    },
  },
  {
    title: 'I1 I4 each is on its own condition: what one of them meets changes nothing for the others, and the answers are in their order',
    async run(subject) {
      const { store } = subject;
      const [free, taken, right, passed, gone] = [freshId(), freshId(), freshId(), freshId(), freshId()];
      const standing = sample();
      const first = await put(store, taken, standing);
      const { version } = await put(store, right, sample());
      const old = await put(store, passed, sample());
      const newer = completed();
      const second = written(await store.replace(passed, newer, old.version));
      const [made, over] = [sample({ fingerprint: 'f' }), completed({ attempt: 2 })];
      const writes = [
        { id: taken, record: completed() },
        { id: right, record: over, version },
        { id: gone, record: completed(), version: old.version },
        { id: free, record: made },
        { id: passed, record: sample(), version: old.version },
      ];
      const answers = await writeAll(subject, writes);
      assertSame(conflict(at(answers, 0)).current, standing, first);
      assertSame(await store.read(right), over, written(at(answers, 1)));
      assert.equal(conflict(at(answers, 2)).current, undefined);
      assertSame(await store.read(free), made, written(at(answers, 3)));
      assertSame(conflict(at(answers, 4)).current, newer, second);
      assert.equal(await store.read(gone), undefined);
      assertSame(await store.read(passed), newer, second);
    },
  },
  {
    title: 'one that is too large is refused by itself',
    async run(subject) {
      const { maxRecordBytes } = subject.store.limits;
      // To make a row of hundreds of megabytes would say no more.
      if (maxRecordBytes > 32 * 1_048_576) return;
      const large = completed({ outcome: { kind: 'value', value: 'x'.repeat(maxRecordBytes) } });
      const [small, tooMuch, other] = [freshId(), freshId(), freshId()];
      const answers = await writeAll(subject, [
        { id: small, record: sample() },
        { id: tooMuch, record: large },
        { id: other, record: sample() },
      ]);
      written(at(answers, 0));
      tooLarge(at(answers, 1));
      written(at(answers, 2));
      assert.equal(await subject.store.read(tooMuch), undefined);
    },
  },
  {
    title: `I1 I4 ${RACERS} callers, each with the same ${RACED} in another order, ${RACES} times: for each record one of them wins, and the others are told what stands`,
    async run(subject) {
      const { store } = subject;
      for (let race = 0; race < RACES; race++) {
        const ids = Array.from({ length: RACED }, freshId);
        // Every second race is about rows that stand already.
        const stand =
          race % 2 === 1
            ? await writeAll(
                subject,
                ids.map((id) => ({ id, record: sample() })),
              )
            : undefined;
        const versions = new Map(ids.map((id, n) => [id, stand && written(at(stand, n)).version]));
        const callers = Array.from({ length: RACERS }, (_, caller) =>
          ids.map((_, n) => {
            const id = ids[(caller % 2 === 0 ? n + caller : 2 * RACED - 1 - n - caller) % RACED] as string;
            return { id, record: sample({ holder: `caller ${caller}` }), version: versions.get(id) };
          }),
        );
        const answers = await Promise.all(callers.map((writes) => writeAll(subject, writes)));
        for (const id of ids) {
          const all = callers.map((writes, caller) => {
            const n = writes.findIndex((write) => write.id === id);
            return { record: writes[n]?.record, answer: at(answers[caller] ?? [], n) };
          });
          const [won, ...more] = all.filter(({ answer }) => answer.ok);
          assert.ok(won?.record && more.length === 0, `one has to win, ${more.length + (won ? 1 : 0)} did`);
          assertSame(await store.read(id), won.record, written(won.answer));
          for (const { answer } of all) if (!answer.ok) assertSame(conflict(answer).current, won.record, written(won.answer));
        }
      }
    },
  },
];

export const several: readonly RecordStoreCase[] = whereTheyAreTaken.map(({ title, run }) => ({
  title: `(where several are taken in one request) ${title}`,
  run: async (subject: RecordStoreSubject) => (subject.store.batch === undefined ? undefined : run(subject)),
}));
