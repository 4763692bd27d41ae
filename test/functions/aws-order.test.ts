import type { SQSRecord } from 'aws-lambda';
import { describe, expect, it } from 'vitest';
import { runItems } from '../../src/adapters/aws-lambda/batches/run-items.ts';
import { type EachOptions, idempotentEach } from '../../src/adapters/aws-lambda/index.ts';
import { PermanentError } from '../../src/core/errors.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { Dice } from '../simulation/world.ts';
import { lambdaContext, sqsEvent } from '../support/aws-events.ts';

const context = lambdaContext();
const failures = (...ids: readonly string[]) => ({ batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })) });
/** `a1` is a message of group a. */
const fifo = (...ids: readonly string[]) => sqsEvent(...ids.map((body) => ({ body, group: body.slice(0, 1) })));
const options = (more: Partial<EachOptions> = {}): EachOptions => ({
  store: memoryStore(),
  operation: 'orders/take',
  key: ({ body }) => body,
  onItemFailed: () => {},
  ...more,
});

describe('groups that share keys', () => {
  it('I1 the same key in two groups runs once, and both are acknowledged', async () => {
    let runs = 0;
    const consume = idempotentEach(options({ key: () => 'k' }), async () => {
      runs += 1;
      await new Promise(setImmediate);
    });
    expect(await consume(fifo('a1', 'b1', 'a2', 'b2'), context)).toEqual(failures());
    expect(runs).toBe(1);
  });

  it('what waits for a key does not wait for the rest of the group that has it', async () => {
    const tried: string[] = [];
    const consume = idempotentEach(options({ concurrency: 2, key: ({ body }) => body.slice(1) }), async ({ body }) => {
      tried.push(body);
      await new Promise(setImmediate);
      if (body === 'b2') throw new Error('no');
    });
    // b2 fails, so its group stops; a2 has waited for it and runs, c2 is its duplicate.
    expect(await consume(fifo('b1', 'b2', 'a2', 'b3', 'c2', 'a3', 'c4'), context)).toEqual(failures('m2', 'm4'));
    expect(tried.toSorted()).toEqual(['a2', 'a3', 'b1', 'b2', 'c4']);
  });
});

describe('a poison message', () => {
  it('of a standard queue holds nobody up, and of a FIFO queue only its group', async () => {
    const poison = ({ body }: SQSRecord): void => {
      if (body === 'a1') throw new PermanentError('no such order');
    };
    const standard = idempotentEach(options(), poison);
    const ordered = idempotentEach(options(), poison);
    for (let delivery = 0; delivery < 3; delivery++) {
      expect(await standard(sqsEvent({ body: 'a1' }, { body: 'a2' }, { body: 'b1' }), context)).toEqual(failures('m1'));
      expect(await ordered(fifo('a1', 'a2', 'b1'), context)).toEqual(failures('m1', 'm2'));
    }
  });
});

describe('order and concurrency', () => {
  it('whatever waits for what, it ends, in order, with no more at once than allowed', async () => {
    for (let seed = 1; seed <= 300; seed++) {
      const dice = new Dice(seed);
      const concurrency = dice.between(1, 5);
      const items = Array.from({ length: dice.between(0, 25) }, (_, n) => ({
        n,
        lane: dice.chance(0.7) ? `l${dice.below(4)}` : undefined,
        key: dice.chance(0.9) ? `k${dice.below(6)}` : undefined,
      }));
      const broken = new Set(items.filter(() => dice.chance(0.15)));
      const begun: (typeof items)[number][] = [];
      const now = new Set<(typeof items)[number]>();
      const wrong: string[] = [];
      let time = dice.chance(0.2) ? dice.below(20) : 1_000;
      const ran = await runItems(items, {
        concurrency,
        mayBegin: () => time > 0,
        begin: async (item) => {
          time -= 1;
          if (now.size >= concurrency) wrong.push('too many at once');
          for (const other of now) if (shares(item, other)) wrong.push(`${item.n} with ${other.n}`);
          for (const other of begun) if (item.lane !== undefined && other.lane === item.lane && other.n > item.n) wrong.push('out of order');
          if (begun.some((other) => item.lane !== undefined && other.lane === item.lane && broken.has(other))) wrong.push('after a failure');
          begun.push(item);
          now.add(item);
          for (let turn = dice.below(3); turn > 0; turn--) await new Promise(setImmediate);
          now.delete(item);
          return broken.has(item) ? { error: 'no' } : undefined;
        },
      });
      expect([seed, wrong, now.size]).toEqual([seed, [], 0]);
      expect(ran.failures.map(({ index }) => index).toSorted()).toEqual(
        begun
          .filter((item) => broken.has(item))
          .map(({ n }) => n)
          .toSorted(),
      );
      expect(ran.untried).toEqual(items.filter((item) => !begun.includes(item)).map(({ n }) => n));
      const held = items.filter(
        ({ n, lane }) => !items.some((other) => lane !== undefined && other.lane === lane && other.n < n && broken.has(other)),
      );
      if (time > 0) expect(begun.length).toBe(held.length);
    }
  });
});

const shares = (a: { readonly lane?: string | undefined; readonly key?: string | undefined }, b: typeof a): boolean =>
  (a.lane !== undefined && a.lane === b.lane) || (a.key !== undefined && a.key === b.key);
