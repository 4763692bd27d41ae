import { setTimeout as pause } from 'node:timers/promises';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { runOnce } from '../../src/index.ts';
import { gate } from '../support/aws-events.ts';
import { errorOf, isA, type SideBySide, startSideBySide } from '../support/side-by-side.ts';

/** What docs/from-powertools.md says about the life of a record: run here on the package that is installed, with ours beside it. */
let both: SideBySide;

beforeAll(async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  both = await startSideBySide();
});
beforeEach(() => both.reset());
afterAll(async () => {
  vi.restoreAllMocks();
  await both?.stop();
});

/** Long enough for a second call before it is over. */
const DEADLINE_MS = 1_500;

/** The first run outlives its time and ends last, as a sandbox that was frozen does; the second takes over meanwhile. */
async function overtaken<T>(call: (work: () => Promise<T>) => Promise<T>, late: () => T, second: T, takeOver: () => Promise<void>) {
  const go = gate();
  const inside = gate();
  const first = call(async () => {
    inside.open();
    await go.opened;
    return late();
  });
  await inside.opened;
  await takeOver();
  const answered = await call(async () => second);
  go.open();
  return { answered, first: await first.catch((error: unknown) => error) };
}

/** A run that never ends, as one that was killed. */
async function begun(call: (work: () => Promise<unknown>) => Promise<unknown>): Promise<void> {
  const inside = gate();
  void call(() => {
    inside.open();
    return new Promise(() => {});
  });
  await inside.opened;
}

describe('the life of a record, by Powertools and by us', () => {
  it('P1 I4 a run that was overtaken writes its result over the newer one; ours is refused, and gets the newer one', async () => {
    const there = (work: () => Promise<string>) => both.theirs(work)('P1', 50);
    await overtaken(
      there,
      () => 'first',
      'second',
      () => pause(60),
    );
    // The second caller was told something else.
    expect(await there(async () => 'third')).toBe('first');

    const here = (work: () => Promise<string>) => both.ours('P1', work, { leaseMs: 100 });
    const { first } = await overtaken(
      here,
      () => 'first',
      'second',
      async () => {
        both.aheadMs = 10_000;
      },
    );
    expect(first).toBe('second');
    expect(await here(async () => 'third')).toBe('second');
  });

  it('P2 I4 a run that was overtaken and fails deletes the newer record, and the work runs again; ours leaves it', async () => {
    const fail = (): string => {
      throw new Error('too late');
    };
    const there = (work: () => Promise<string>) => both.theirs(work)('P2', 50);
    await overtaken(there, fail, 'second', () => pause(60));
    expect(await there(async () => 'third')).toBe('third');

    const here = (work: () => Promise<string>) => both.ours('P2', work, { leaseMs: 100 });
    await overtaken(here, fail, 'second', async () => {
      both.aheadMs = 10_000;
    });
    expect(await here(async () => 'third')).toBe('second');
  });

  it('P3 I7 an answer that gets lost makes the caller a stranger to its own record, and nothing runs; ours is recognised', async () => {
    const dropped = both.proxy.inject({ match: isA('PutItem'), action: 'drop-answer' });
    let runs = 0;
    const error = await errorOf(both.theirs(() => ++runs)('P3', 60_000));
    await dropped.fired;
    expect(error).toMatchObject({ name: 'IdempotencyAlreadyInProgressError' });
    expect(runs).toBe(0);

    const again = both.proxy.inject({ match: isA('PutItem'), action: 'drop-answer' });
    expect(await both.ours('P3', () => ++runs)).toBe(1);
    await again.fired;
  });

  it('P4 a result that cannot be stored is an error after the work was done, and the key stays locked; ours is kept, or the caller gets it', async () => {
    const charged = { at: new Date(86_400_000) };
    let runs = 0;
    const work = () => {
      runs += 1;
      return charged;
    };
    const there = both.theirs(work);
    expect(await errorOf(there('P4', DEADLINE_MS))).toMatchObject({ name: 'IdempotencyPersistenceLayerError' });
    expect(runs).toBe(1);
    expect(await errorOf(there('P4', DEADLINE_MS))).toMatchObject({ name: 'IdempotencyAlreadyInProgressError' });

    await pause(DEADLINE_MS + 10);
    await errorOf(there('P4', DEADLINE_MS));
    expect(runs).toBe(2);
    for (const unstored of [{ note: undefined }, new URL('https://example.com'), Number.NaN, new Set(), 'x'.repeat(410_000)]) {
      const error = await errorOf(both.theirs(() => unstored)(`P4 ${String(unstored).slice(0, 20)} ${typeof unstored}`, 60_000));
      expect(error, String(unstored).slice(0, 20)).toMatchObject({ name: 'IdempotencyPersistenceLayerError' });
    }

    expect(await both.ours('P4', work)).toBe(charged);
    expect(await both.ours('P4', work)).toStrictEqual(charged);
    expect(runs).toBe(3);
    const response = await both.ours('P4 response', () => new Response('charged'));
    expect(await response.text()).toBe('charged');
    await expect(both.ours('P4 response', () => new Response('again'))).rejects.toMatchObject({ code: 'RESULT_NOT_STORED' });
  });

  it('P5 I2 a second caller gets something else than the first one; ours get equal values', async () => {
    const value = { count: 10n, tags: new Map([['a', 1]]), body: Buffer.from('x') };
    const there = both.theirs(() => value);
    expect(await there('P5', 60_000)).toBe(value);
    expect(await there('P5', 60_000)).toStrictEqual({ count: 10, tags: { a: 1 }, body: new Uint8Array([120]) });

    await both.ours('P5', () => value);
    expect(await both.ours('P5', () => value)).toStrictEqual(value);
  });

  it('P8 I10 without a context a crash locks the key until the record expires; ours has a lease of a minute', async () => {
    await begun((work) => both.theirs(work)('P8'));
    expect(await errorOf(both.theirs(() => 1)('P8'))).toMatchObject({ name: 'IdempotencyAlreadyInProgressError' });
    const { Items = [] } = await both.client.send(
      new ScanCommand({
        TableName: both.table,
        FilterExpression: '#s = :p',
        ExpressionAttributeNames: { '#s': 'status' },
        ExpressionAttributeValues: { ':p': { S: 'INPROGRESS' } },
      }),
    );
    const locked = Items.filter((item) => item.in_progress_expiration === undefined);
    expect(locked).toHaveLength(1);
    expect(Number(locked[0]?.expiration?.N) - Date.now() / 1_000).toBeGreaterThan(3_500);

    await begun((work) => both.ours('P8', work));
    expect(await errorOf(both.ours('P8', () => 1))).toMatchObject({ code: 'IN_FLIGHT' });
    both.aheadMs = 63_000;
    expect(await both.ours('P8', () => 1)).toBe(1);
  });

  it('P9 I3 a handler that changes its event finishes another record than it began, and runs again; ours took the key before', async () => {
    let runs = 0;
    const work = (event: { id: string; seen?: boolean }) => {
      event.seen = true;
      return ++runs;
    };
    await both.theirs(work)({ id: 'P9' }, DEADLINE_MS);
    expect(await errorOf(both.theirs(work)({ id: 'P9' }, DEADLINE_MS))).toMatchObject({ name: 'IdempotencyAlreadyInProgressError' });
    await pause(DEADLINE_MS + 10);
    expect(await both.theirs(work)({ id: 'P9' }, DEADLINE_MS)).toBe(2);

    const event = { id: 'P9' };
    await runOnce({ store: both.store, operation: 'probe', key: event.id, input: event }, () => work(event));
    expect(await runOnce({ store: both.store, operation: 'probe', key: 'P9', input: { id: 'P9' } }, () => work(event))).toBe(3);
  });

  it('P13 the error of a handler is lost when its record cannot be deleted; ours goes through', async () => {
    const declined = new Error('declined');
    const work = (): string => {
      throw declined;
    };
    const denied = { status: 400, body: JSON.stringify({ __type: 'com.amazonaws.dynamodb.v20120810#AccessDeniedException', message: 'denied' }) };
    both.proxy.inject({ match: isA('DeleteItem'), action: denied, times: 10 });
    const error = (await errorOf(both.theirs(work)('P13', 60_000))) as Error;
    expect(error).toMatchObject({ name: 'IdempotencyPersistenceLayerError', cause: { name: 'AccessDeniedException' } });

    both.proxy.inject({ match: isA('PutItem'), nth: 2, action: denied, times: 10 });
    expect(await errorOf(both.ours('P13', work))).toBe(declined);

    both.proxy.clear();
    const thrown = { not: 'an Error' };
    const wild = (): string => {
      throw thrown;
    };
    expect(await errorOf(both.theirs(wild)('P13 wild', 60_000))).toMatchObject({ name: 'IdempotencyUnknownError', cause: thrown });
    expect(await errorOf(both.ours('P13 wild', wild))).toBe(thrown);
  });
});
