import { afterAll, describe, expect, it } from 'vitest';
import { Sandboxes } from '../support/lambda-runtime/sandbox.ts';

const HANDLER = new URL('handlers/plain.ts', import.meta.url);
const sandboxes = new Sandboxes();
afterAll(() => sandboxes.close());

const plain = (exportName = 'handler', settings = {}) => sandboxes.start({ handler: HANDLER, exportName, ...settings });

describe('the runtime that the tests run handlers in', () => {
  it('hands over JSON, and takes JSON: nothing is null, and what JSON cannot carry is an error of the handler', async () => {
    const sandbox = plain();
    for (const event of [{ a: [1, 'ü', null] }, 'text', 0, null, []]) {
      expect(await sandbox.invoke({ do: 'echo', event })).toMatchObject({ kind: 'response', payload: event });
    }
    expect(await sandbox.invoke({ do: 'nothing' })).toMatchObject({ kind: 'response', payload: null });
    expect(await sandbox.invoke({ do: 'bigint' })).toMatchObject({ kind: 'error', errorType: 'Runtime.JSONStringifyError' });
    expect(await sandbox.invoke({ do: 'function' })).toMatchObject({ kind: 'error', errorType: 'TypeError' });
  });

  it('tells of a throw by its name, message and trace, and keeps the process', async () => {
    const sandbox = plain();
    const thrown = await sandbox.invoke({ do: 'throw' });
    expect(thrown).toMatchObject({ kind: 'error', errorType: 'RangeError', errorMessage: 'too far' });
    expect(thrown.kind === 'error' && thrown.trace[0]).toBe('RangeError: too far');
    expect(await sandbox.invoke({ do: 'throw text' })).toMatchObject({ kind: 'error', errorType: 'string', errorMessage: 'text', trace: [] });
    expect((await sandbox.invoke({ do: 'nothing' })).pid).toBe(thrown.pid);
  });

  it('gives a context whose time runs out with the limit', async () => {
    const sandbox = plain();
    const found = await sandbox.invoke({ do: 'context' }, { timeoutMs: 10_000 });
    expect(found).toMatchObject({ kind: 'response', payload: { functionName: 'orders', memoryLimitInMB: '256', awsRequestId: found.requestId } });
    const { leftMs, env } = (found as { payload: { leftMs: number; env: string[] } }).payload;
    expect(leftMs).toBeGreaterThan(8_000);
    expect(leftMs).toBeLessThanOrEqual(10_000);
    // Nothing of whoever runs the tests.
    expect(env.filter((name) => /^(npm_|VITEST|PATH$|HOME$)/.test(name))).toEqual([]);
  });

  it('kills at the limit, also a process that is stopped or busy; the next invocation has a new one', async () => {
    const sandbox = plain();
    const first = await sandbox.invoke({ do: 'nothing' });
    for (const stall of ['hang', 'spin']) {
      const startedMs = performance.now();
      const cut = await sandbox.invoke({ do: stall }, { timeoutMs: 300 });
      expect(cut.kind).toBe('timeout');
      expect(performance.now() - startedMs).toBeLessThan(3_000);
      const next = await sandbox.invoke({ do: 'nothing' });
      expect(next.kind).toBe('response');
      expect([first.pid, cut.pid === first.pid ? 0 : first.pid]).not.toContain(next.pid);
    }
    const stopped = sandbox.invoke({ do: 'hang' }, { timeoutMs: 300 });
    await new Promise((resolve) => setTimeout(resolve, 100));
    sandbox.freeze();
    expect((await stopped).kind).toBe('timeout');
  });

  it('says how a process ended that did not answer: by exit, by a signal, by an error that nobody caught', async () => {
    const sandbox = plain();
    expect(await sandbox.invoke({ do: 'exit' })).toMatchObject({ kind: 'crashed', errorType: 'Runtime.ExitError', exit: 3 });
    expect(await sandbox.invoke({ do: 'reject' })).toMatchObject({
      kind: 'crashed',
      errorType: 'Runtime.UnhandledPromiseRejection',
      errorMessage: 'Error: stray',
      exit: 128,
    });
    expect(await sandbox.invoke({ do: 'uncaught' })).toMatchObject({ kind: 'crashed', errorType: 'Error', errorMessage: 'uncaught', exit: 129 });
    await sandbox.warm();
    const cut = sandbox.invoke({ do: 'hang' }, { timeoutMs: 20_000 });
    await new Promise((resolve) => setTimeout(resolve, 50));
    await sandbox.kill();
    expect(await cut).toMatchObject({ kind: 'crashed', errorType: 'Runtime.ExitError', exit: 'SIGKILL' });
    expect(await sandbox.invoke({ do: 'nothing' })).toMatchObject({ kind: 'response' });
  });

  it('refuses what the newest runtime refuses: three declared parameters, a name that is not there, a module that throws', async () => {
    expect(await plain('withCallback').invoke({})).toMatchObject({ kind: 'crashed', errorType: 'Runtime.CallbackHandlerDeprecated' });
    expect(await plain('absent').invoke({})).toMatchObject({ kind: 'crashed', errorType: 'Runtime.HandlerNotFound' });
    const broken = plain('handler', { env: { BROKEN: '1' } });
    expect(await broken.invoke({})).toMatchObject({ kind: 'crashed', errorType: 'Error', errorMessage: 'broken module' });
  });

  it('streams: a status before the body, bytes as they were written, and an error after the first byte', async () => {
    const sandbox = plain('streamed');
    const done = await sandbox.invoke({});
    expect(done).toMatchObject({ kind: 'response', streamed: { prelude: { statusCode: 201, headers: { 'x-a': 'b' } } } });
    expect('streamed' in done && done.streamed?.body.toString()).toBe('one two');
    const failed = await sandbox.invoke({ fail: true });
    expect(failed).toMatchObject({ kind: 'error', errorType: 'Error', errorMessage: 'in the middle' });
    expect('streamed' in failed && failed.streamed?.body.toString()).toBe('one ');
  });

  it('freezes the process between invocations: nothing runs there until the next one', async () => {
    const sandbox = plain();
    await sandbox.invoke({ do: 'count' });
    const soon = await sandbox.invoke({ do: 'counted' }, { frozenMs: 2_000 });
    expect((soon as { payload: number }).payload).toBeLessThan(15);
    const awake = await sandbox.invoke({ do: 'counted', afterMs: 600 });
    expect((awake as { payload: number }).payload).toBeGreaterThan(3);
  });

  it('I12 sees what an invocation leaves behind: timers that keep the process alive or not, and what is open', async () => {
    const sandbox = plain();
    expect(await sandbox.invoke({ do: 'echo' })).toMatchObject({ leftovers: { active: [], timers: [] } });
    const timer = await sandbox.invoke({ do: 'leave timer' });
    expect(timer).toMatchObject({ leftovers: { active: ['Timeout'], timers: [expect.stringContaining('plain.ts')] } });
    const unreferenced = await sandbox.invoke({ do: 'leave unreferenced timer' });
    expect(unreferenced).toMatchObject({ leftovers: { active: [], timers: [expect.stringContaining('plain.ts')] } });
    expect(await sandbox.invoke({ do: 'leave server' })).toMatchObject({ leftovers: { active: ['TCPServerWrap'] } });
    // Told once, of the invocation that left them.
    expect(await sandbox.invoke({ do: 'cancel timer' })).toMatchObject({ leftovers: { active: [], timers: [] } });
  });

  it('runs several invocations at once in one process, where it is told to, and ends none for the time-out of another', async () => {
    const sandbox = plain('handler', { maxConcurrency: 3 });
    const slow = sandbox.invoke({ do: 'wait', ms: 600 }, { timeoutMs: 5_000 });
    const cut = sandbox.invoke({ do: 'wait', ms: 60_000 }, { timeoutMs: 200 });
    const quick = await sandbox.invoke({ do: 'context' });
    expect(quick.kind).toBe('response');
    expect((await cut).kind).toBe('timeout');
    expect(await slow).toMatchObject({ kind: 'response', pid: quick.pid });
    await expect(Promise.all(Array.from({ length: 4 }, () => sandbox.invoke({ do: 'nothing' })))).rejects.toThrow(/at a time/);
  });
});
