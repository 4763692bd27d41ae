import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { sqsEvent } from '../support/aws-events.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import type { Invoked } from '../support/lambda-runtime/environment.ts';
import type { Sandbox } from '../support/lambda-runtime/sandbox.ts';
import { eventOf, type FunctionName, isInFlight, openStage, payloadOf, type Stage, untilTaken } from './stage.ts';

/** What is left is read a little before the lease is taken, and Lambda's end comes a little after its limit. */
const GRACE_MS = 1_000;
/** What requests and starts take on a busy machine. */
const SLACK_MS = 10_000;
const LIMIT_MS = 1_500;
vi.setConfig({ testTimeout: 60_000 });

describe.runIf(await javaAvailable()).concurrent('an invocation that the platform ends', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage?.close());

  let warmed = 0;
  /** An earlier invocation has loaded the SDK, so that limit and lease are used up by the work alone. */
  const warm = async (name: FunctionName, options?: object): Promise<Sandbox> => {
    const sandbox = stage.sandbox(name, options);
    warmed += 1;
    await sandbox.invoke(eventOf(name, { id: `before-${warmed}`, task: 'charge' }));
    return sandbox;
  };

  it('I6 I10 a time-out by SIGKILL: refused in the new sandbox until remaining time + 1 s + the uncertainty of the store, then done once more, and kept', async () => {
    const id = 'timed-out';
    const [sandbox, spare] = await Promise.all([warm('order'), warm('order')]);
    const cut = await sandbox.invoke({ id, task: 'hang' }, { timeoutMs: LIMIT_MS });
    expect(cut.kind).toBe('timeout');
    const standing = await stage.record(id);
    expect(standing).toMatchObject({ state: 'running', attempt: 1 });
    expect(standing.leaseMs).toBeLessThanOrEqual(LIMIT_MS + GRACE_MS);
    expect(standing.leaseMs).toBeGreaterThan(GRACE_MS + LIMIT_MS / 2);

    expect(isInFlight(await spare.invoke({ id, task: 'charge' }))).toBe(true);
    const taken = await untilTaken(sandbox, { id, task: 'charge' }, isInFlight);
    expect(taken).toMatchObject({ kind: 'response', payload: { attempt: 2, by: taken.pid } });
    // A new sandbox.
    expect(taken.pid).not.toBe(cut.pid);
    const [, again] = stage.ledger.of(id, 'begun');
    const freeAtMs = standing.writtenAtMs + standing.leaseMs + stage.store.clock.uncertaintyMs;
    expect(again?.atMs).toBeGreaterThanOrEqual(freeAtMs);
    expect(again?.atMs).toBeLessThan(freeAtMs + SLACK_MS);

    expect(payloadOf(await sandbox.invoke({ id, task: 'charge' }))).toEqual(payloadOf(taken));
    expect(stage.ledger.of(id, 'begun')).toHaveLength(2);
    expect(stage.ledger.of(id, 'charged').map(({ facts }) => facts)).toEqual([{ attempt: 2 }]);
    expect(await stage.record(id)).toMatchObject({ state: 'completed', attempt: 2 });
  });

  it('I10 early stop: the signal aborts so long before the limit, the record is given up in time, and the next call runs at once', async () => {
    const id = 'early';
    const deadlineMarginMs = 2_000;
    const sandbox = await warm('order', { deadlineMarginMs });
    const invokedAtMs = Date.now();
    const stopped = await sandbox.invoke({ id, task: 'heed' }, { timeoutMs: 4_000 });
    expect(stopped).toMatchObject({ kind: 'error', errorType: 'TimeoutError', leftovers: { active: [], timers: [] } });
    const [told] = stage.ledger.of(id, 'stopped');
    const beforeLimitMs = invokedAtMs + 4_000 - Number(told?.facts.atMs);
    expect(told?.facts.reason).toBe('TimeoutError');
    expect(beforeLimitMs).toBeGreaterThan(deadlineMarginMs / 2);
    expect(beforeLimitMs).toBeLessThan(deadlineMarginMs + 500);
    expect(await stage.record(id)).toMatchObject({ state: 'released', attempt: 1 });
    expect(payloadOf(await sandbox.invoke({ id, task: 'charge' }))).toEqual({ attempt: 2, by: stopped.pid });
    expect(stage.ledger.of(id, 'charged')).toHaveLength(1);
  });

  it.each([
    { how: 'process.exit', task: 'exit', exit: 1 },
    { how: 'kill -9', task: 'hang', exit: 'SIGKILL' },
  ])('I6 I10 a crash by $how in the middle: refused while its lease lasts, then run again in a new sandbox', async ({ task, exit }) => {
    const id = `crashed by ${exit}`;
    const [sandbox, spare] = await Promise.all([warm('order', { leaseMs: 3_000 }), warm('order', { leaseMs: 3_000 })]);
    const crashing = sandbox.invoke({ id, task });
    if (task === 'hang') {
      await stage.ledger.reached(id, 'hangs');
      await sandbox.kill();
    }
    const crashed = await crashing;
    expect(crashed).toMatchObject({ kind: 'crashed', errorType: 'Runtime.ExitError', exit });
    const standing = await stage.record(id);
    expect(isInFlight(await spare.invoke({ id, task: 'charge' }))).toBe(true);
    const taken = await untilTaken(sandbox, { id, task: 'charge' }, isInFlight);
    expect(payloadOf(taken)).toEqual({ attempt: 2, by: taken.pid });
    expect(taken.pid).not.toBe(crashed.pid);
    const [, again] = stage.ledger.of(id, 'begun');
    expect(again?.atMs).toBeGreaterThanOrEqual(standing.writtenAtMs + standing.leaseMs + stage.store.clock.uncertaintyMs);
    expect(stage.ledger.of(id, 'charged')).toHaveLength(1);
  });

  it('I1 I6 a batch of a queue that is cut off comes back: what was done is acknowledged, what was cut is reported, and done when it is free', async () => {
    const [sandbox, spare] = await Promise.all([warm('queue'), warm('queue')]);
    const batch = sqsEvent({ body: { id: 'm-a', task: 'charge' } }, { body: { id: 'm-b', task: 'hang' } }, { body: { id: 'm-c', task: 'charge' } });
    expect((await sandbox.invoke(batch, { timeoutMs: LIMIT_MS })).kind).toBe('timeout');
    stage.ledger.letGo('m-b');
    const isReported = (invoked: Invoked): boolean => payloadOf<{ batchItemFailures: object[] }>(invoked).batchItemFailures.length > 0;
    expect(payloadOf(await spare.invoke(batch))).toEqual({ batchItemFailures: [{ itemIdentifier: 'm2' }] });
    const taken = await untilTaken(sandbox, batch, isReported);
    expect(payloadOf(taken)).toEqual({ batchItemFailures: [] });
    for (const id of ['m-a', 'm-b', 'm-c']) expect(stage.ledger.of(id, 'charged')).toHaveLength(1);
    expect(stage.ledger.of('m-b', 'begun').map(({ facts }) => facts.attempt)).toEqual([1, 2]);
  });

  it('I6 a client whose request was cut off sends it again: 409 with Retry-After, then 201, then the same 201 as a replay', async () => {
    const id = 'cut-request';
    const [sandbox, spare] = await Promise.all([warm('http'), warm('http')]);
    const request = eventOf('http', { id, task: 'hang' });
    expect((await sandbox.invoke(request, { timeoutMs: LIMIT_MS })).kind).toBe('timeout');
    stage.ledger.letGo(id);
    const isConflict = (invoked: Invoked): boolean => payloadOf<{ statusCode: number }>(invoked).statusCode === 409;
    expect(payloadOf(await spare.invoke(request))).toMatchObject({
      statusCode: 409,
      headers: { 'retry-after': expect.stringMatching(/^[1-9]\d*$/) },
    });
    const taken = await untilTaken(sandbox, request, isConflict);
    const first = payloadOf<{ statusCode: number; body: string; headers: object }>(taken);
    expect(first).toMatchObject({ statusCode: 201 });
    expect(payloadOf(await sandbox.invoke(request))).toMatchObject({
      statusCode: 201,
      body: first.body,
      headers: { 'Idempotent-Replayed': 'true' },
    });
    expect(stage.ledger.of(id, 'charged')).toHaveLength(1);
  });
});
