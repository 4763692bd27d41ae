import { app, InvocationContext } from '@azure/functions';
import { describe, expect, it } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { type IdempotentEachOptions, ItemsFailedError, idempotentEach, keys } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore, runOnce } from '../../src/index.ts';

interface Item {
  readonly id: string;
}

const host = installFunctionsCore();
const batch = (...ids: readonly string[]) => ({ collectionString: { string: ids.map((id) => JSON.stringify({ id })) } });
let registered = 0;

/** A function that fails for the ids in `bad`, and tells what it tried. */
function register(trigger: Readonly<Record<string, unknown>>, bad: Set<string>, options: Partial<IdempotentEachOptions<Item>> = {}) {
  const name = `batch${++registered}`;
  const tried: string[] = [];
  const handler = idempotentEach<Item>({ store: memoryStore(), operation: name, key: (item) => item.id, ...options }, async ({ id }) => {
    tried.push(id);
    await new Promise((resolve) => setImmediate(resolve));
    if (bad.has(id)) throw new Error(`no ${id}`);
  });
  app.generic(name, { trigger: { name: 'input', cardinality: 'many', type: '', ...trigger }, handler });
  return { name, tried, handler, invoke: (...ids: string[]) => host.invoke(name, batch(...ids)).catch((error: unknown) => error) };
}

const SESSIONS = { type: 'serviceBusTrigger', isSessionsEnabled: true };
const HUB = { type: 'eventHubTrigger' };

describe('idempotentEach, in order', () => {
  it('I1 a batch of a session ends at its first failure; it comes back in order and costs only what was not done', async () => {
    const bad = new Set(['b']);
    const { tried, invoke } = register(SESSIONS, bad);
    const error = await invoke('a', 'b', 'c', 'd');
    expect(error).toBeInstanceOf(ItemsFailedError);
    expect(error).toMatchObject({ failures: [{ index: 1, error: { message: 'no b' } }], untried: [2, 3] });
    expect((error as Error).message).toMatch(/: 1 of 4 items failed \(index 1\), the first with: no b; not tried: index 2, 3$/);
    bad.clear();
    expect(await invoke('a', 'b', 'c', 'd')).not.toBeInstanceOf(Error);
    expect(tried).toEqual(['a', 'b', 'b', 'c', 'd']);
  });

  it('I3 elsewhere the rest is tried: a stream that moves on would lose it, and queues promise no order', async () => {
    for (const trigger of [HUB, { type: 'cosmosDBTrigger' }, { type: 'kafkaTrigger' }, { type: 'serviceBusTrigger', isSessionsEnabled: false }]) {
      const { tried, invoke } = register(trigger, new Set(['a', 'c']));
      expect(await invoke('a', 'b', 'c', 'd')).toMatchObject({ failures: [{ index: 0 }, { index: 2 }], untried: [] });
      expect(tried).toEqual(['a', 'b', 'c', 'd']);
    }
  });

  it('`onFailure` overrules in both directions', async () => {
    const stream = register(HUB, new Set(['a']), { onFailure: 'stop' });
    expect(await stream.invoke('a', 'b')).toMatchObject({ untried: [1] });
    const session = register(SESSIONS, new Set(['a']), { onFailure: 'continue' });
    expect(await session.invoke('a', 'b')).toMatchObject({ untried: [] });
    expect(() => register(HUB, new Set(), { onFailure: 'pause' as never })).toThrow('onFailure');
  });

  it('I3 in the last try of a retry policy all items of a stream are tried: after it the host moves on', async () => {
    const { handler, tried } = register(HUB, new Set(['a']), { onFailure: 'stop' });
    const options = { trigger: { name: 'input', ...HUB, cardinality: 'many' }, extraInputs: [], extraOutputs: [] };
    const attempt = (retryCount: number, maxRetryCount: number) => {
      const context = new InvocationContext({ functionName: 'f', invocationId: 'i', options, retryContext: { retryCount, maxRetryCount } });
      return handler([{ id: 'a' }, { id: 'b' }], context).catch((error: unknown) => error);
    };
    expect(await attempt(1, 2)).toMatchObject({ untried: [1] });
    // -1 is for ever.
    expect(await attempt(9, -1)).toMatchObject({ untried: [1] });
    expect(await attempt(2, 2)).toMatchObject({ failures: [{ index: 0 }], untried: [] });
    expect(tried).toEqual(['a', 'a', 'a', 'b']);
  });

  it('with more than one at a time, none is begun after a failure, and those that run are waited for', async () => {
    const { tried, invoke } = register(SESSIONS, new Set(['a']), { concurrency: 2 });
    expect(await invoke('a', 'b', 'c', 'd')).toMatchObject({ failures: [{ index: 0 }] });
    expect(tried.slice(0, 2)).toEqual(['a', 'b']);
    expect(tried).not.toContain('d');
  });
});

describe('idempotentEach, in time', () => {
  it('I10 a batch waits for others once, not once for each of its messages', async () => {
    const store = memoryStore();
    const stop = new AbortController();
    const held = ['a', 'b', 'c'].map((key) =>
      runOnce({ store, operation: 'held', key, leaseMs: 60_000 }, () => new Promise((resolve) => stop.signal.addEventListener('abort', resolve))),
    );
    const { tried, invoke } = register({ type: 'serviceBusTrigger' }, new Set(), { store, operation: 'held', leaseMs: 500 });
    const askedAt = performance.now();
    const error = await invoke('a', 'b', 'c', 'd');
    expect(performance.now() - askedAt).toBeLessThan(1_200);
    expect(error).toMatchObject({ failures: [{ index: 0 }, { index: 1 }, { index: 2 }], errors: [0, 1, 2].map(() => ({ code: 'IN_FLIGHT' })) });
    expect(tried).toEqual(['d']);
    stop.abort();
    await Promise.all(held);
  });

  it('I10 time that the work takes is not taken off the time to wait', async () => {
    const store = memoryStore();
    let fail = (): void => {};
    const running = runOnce(
      { store, operation: 'patient', key: 'b' },
      () => new Promise<void>((_, reject) => (fail = () => reject(new Error('no')))),
    );
    const failed = expect(running).rejects.toThrow('no');
    const done: string[] = [];
    const handler = idempotentEach<Item>({ store, operation: 'patient', key: (item) => item.id, leaseMs: 400 }, async ({ id }) => {
      if (id === 'a') await new Promise((resolve) => setTimeout(resolve, 500));
      setTimeout(fail, 150);
      done.push(id);
    });
    app.serviceBusQueue<Item[]>('patient', { queueName: 'q', connection: 'c', cardinality: 'many', handler });
    await host.invoke('patient', batch('a', 'b'));
    await failed;
    expect(done).toEqual(['a', 'b']);
  });

  it('I10 near the end of the time no item is begun; the rest is named', async () => {
    let leftMs = 5_000;
    const { tried, invoke } = register(HUB, new Set(), {
      remainingMs: () => {
        leftMs -= 500;
        return leftMs;
      },
    });
    const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
    const error = (await invoke(...ids)) as ItemsFailedError;
    expect(error.message).toMatch(/^batch\d+: not tried: index /);
    expect([error.failures, error.untried.length + tried.length]).toEqual([[], 20]);
    expect(tried.length).toBeGreaterThan(0);
    expect(tried.length).toBeLessThan(10);
  });
});

describe('idempotentEach, with the keys of the transport', () => {
  it('I1 a message that comes back alone, in another place of another batch, is not done again', async () => {
    const { name, tried } = register({ type: 'serviceBusTrigger' }, new Set(), { key: keys.serviceBusMessageId });
    const of = (...ids: readonly string[]) => ({ MessageIdArray: { json: JSON.stringify(ids) } });
    await host.invoke(name, batch('1', '2', '3'), of('x', 'y', 'z'));
    await host.invoke(name, batch('2', '4'), of('y', 'w'));
    expect(tried).toEqual(['1', '2', '3', '4']);
  });

  it('I1 an item without a key fails alone; nothing was run for it', async () => {
    const { name, tried } = register({ type: 'serviceBusTrigger' }, new Set(), { key: keys.serviceBusMessageId });
    const metadata = { MessageIdArray: { json: JSON.stringify(['x', null, 1000]) } };
    await expect(host.invoke(name, batch('1', '2', '3'), metadata)).rejects.toMatchObject({
      failures: [
        { index: 1, error: { code: 'MISSING_KEY' } },
        { index: 2, error: { code: 'MISSING_KEY' } },
      ],
    });
    expect(tried).toEqual(['1']);
  });
});
