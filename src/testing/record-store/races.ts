import assert from 'node:assert/strict';
import type { WriteResult } from '../../core/ports.ts';
import type { RecordToWrite } from '../../core/record.ts';
import { atOnce } from '../suite.ts';
import { assertSame, conflict, freshId, put, type RaceSizes, type RecordStoreCase, sample, written } from './subject.ts';

interface Attempt {
  readonly record: RecordToWrite;
  readonly result: WriteResult;
}

/** A conflict with one's own revision is an own write whose first answer was lost on the way: that one has won. */
const hasWon = ({ record, result }: Attempt): boolean =>
  result.ok || (result.reason === 'conflict' && result.current?.record.revision === record.revision);

function onlyWinner(attempts: readonly Attempt[]): Attempt {
  const winners = attempts.filter(hasWon);
  assert.equal(winners.length, 1, `${winners.length} of ${attempts.length} racers won`);
  const [winner] = winners as [Attempt];
  for (const attempt of attempts) {
    if (attempt === winner) continue;
    assertSame(conflict(attempt.result).current, winner.record, winner.result.ok ? winner.result : undefined);
  }
  return winner;
}

/** Many callers at once: what only a condition checked by the store itself can hold. */
export function races({ racers = 50, rounds = 20, workers = 8, increments = 25 }: RaceSizes): readonly RecordStoreCase[] {
  return [
    {
      title: `I1 of ${racers} creates at once one wins, and all others are told the winner's record (${rounds} rounds)`,
      async run({ store }) {
        for (let round = 0; round < rounds; round += 1) {
          const id = freshId();
          const attempts = await atOnce(racers, async () => {
            const record = sample();
            return { record, result: await store.create(id, record) };
          });
          const { record, result } = onlyWinner(attempts);
          assertSame(await store.read(id), record, result.ok ? result : undefined);
        }
      },
    },
    {
      title: `I4 of ${racers} replaces of one version at once one wins, and all others are told the winner's record (${rounds} rounds)`,
      async run({ store }) {
        const id = freshId();
        let { version } = await put(store, id, sample());
        for (let round = 0; round < rounds; round += 1) {
          const standing = version;
          const attempts = await atOnce(racers, async () => {
            const record = sample({ attempt: round + 2 });
            return { record, result: await store.replace(id, record, standing) };
          });
          const { record } = onlyWinner(attempts);
          const found = await store.read(id);
          assertSame(found, record);
          version = found?.version ?? '';
        }
      },
    },
    {
      title: 'of many deletes of one version at once one removes it, and all others are told it is gone',
      async run({ store }) {
        const id = freshId();
        const { version } = await put(store, id, sample());
        const results = await atOnce(racers, () => store.delete(id, version));
        assert.equal(results.filter((result) => result.ok).length, 1);
        for (const result of results) if (!result.ok) assert.equal(conflict(result).current, undefined);
      },
    },
    {
      title: `of a replace and a delete of one version at once one wins (${rounds} rounds)`,
      async run({ store }) {
        for (let round = 0; round < rounds; round += 1) {
          const [id, record] = [freshId(), sample()];
          const { version } = await put(store, id, sample());
          const [replaced, deleted] = await Promise.all([store.replace(id, record, version), store.delete(id, version)]);
          assert.notEqual(replaced.ok, deleted.ok);
          if (replaced.ok) assertSame(conflict(deleted).current, record, replaced);
          else assert.equal(conflict(replaced).current, undefined);
          assert.equal((await store.read(id))?.record.revision, replaced.ok ? record.revision : undefined);
        }
      },
    },
    {
      title: `I1 no update is lost: ${workers} workers count to ${increments} each in one record`,
      async run({ store }) {
        const id = freshId();
        const counter = (count: number) => sample({ outcome: { kind: 'value', value: count } });
        await put(store, id, counter(0));
        await atOnce(workers, async () => {
          for (let n = 0; n < increments; n += 1) await increment();
        });
        const found = await store.read(id);
        assert.deepEqual(found?.record.outcome, { kind: 'value', value: workers * increments });

        async function increment(): Promise<void> {
          let standing = await store.read(id);
          // Of each round of refusals one write got through, so nobody waits longer than all the others together take.
          for (let tries = 0; tries <= workers * increments; tries += 1) {
            assert.ok(standing);
            const { outcome } = standing.record;
            assert.ok(outcome?.kind === 'value' && typeof outcome.value === 'number');
            const next = counter(outcome.value + 1);
            const result = await store.replace(id, next, standing.version);
            if (result.ok) return void written(result);
            standing = conflict(result).current;
            if (standing?.record.revision === next.revision) return;
          }
          assert.fail('a worker was refused more often than others can have written');
        }
      },
    },
  ];
}
