import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { storeLeases } from '../../src/core/store-leases.ts';
import { scheduledEvent } from '../support/aws-events.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import type { Invoked } from '../support/lambda-runtime/environment.ts';
import type { Sandbox } from '../support/lambda-runtime/sandbox.ts';
import { startRelay } from './relay.ts';
import { eventOf, type FunctionName, isInFlight, openStage, payloadOf, type Stage, untilTaken } from './stage.ts';

const LEASE_MS = 3_000;
const CLEAN = { active: [], timers: [] };
vi.setConfig({ testTimeout: 60_000 });

describe.runIf(await javaAvailable()).concurrent('a sandbox that is frozen', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage?.close());

  let warmed = 0;
  const warm = async (name: FunctionName, options?: object, env: Record<string, string> = {}): Promise<Sandbox> => {
    const sandbox = stage.sandbox(name, options, { env });
    warmed += 1;
    // A slot of its own, so that the job's is not done.
    const event = { ...(eventOf(name, { id: `before-${warmed}`, task: 'charge' }) as object), time: '2000-01-01T00:00:00Z' };
    await sandbox.invoke(event);
    return sandbox;
  };
  const isSkipped = (invoked: Invoked): boolean => payloadOf(invoked) === null;
  const found = async (id: string, times = 1): Promise<Readonly<Record<string, unknown>>> => (await stage.ledger.reached(id, 'found', times)).facts;

  it('I2 I4 in the middle of an invocation, past its lease: another takes over; thawed, it is told, and nothing it writes lands', async () => {
    const id = 'frozen';
    const options = { leaseMs: LEASE_MS, renew: 'auto' };
    const [first, second] = await Promise.all([warm('order', options), warm('order', options)]);
    const old = first.invoke({ id, task: 'fenced' });
    await stage.ledger.reached(id, 'fenced');
    // While it is awake it renews.
    const claimedAtMs = (await stage.record(id)).writtenAtMs;
    await vi.waitFor(async () => expect((await stage.record(id)).writtenAtMs).toBeGreaterThan(claimedAtMs + LEASE_MS / 2), 10_000);
    expect(isInFlight(await second.invoke({ id, task: 'fenced' }))).toBe(true);

    first.freeze();
    const taking = untilTaken(second, { id, task: 'fenced' }, isInFlight);
    await stage.ledger.reached(id, 'fenced', 2);
    stage.ledger.letGo(id);
    const taken = await taking;
    expect(payloadOf(taken)).toEqual({ attempt: 2, by: taken.pid });
    expect(await found(id)).toEqual({ assertHeld: 'done', aborted: false, step: 'done', put: 'done', update: 'done' });
    const [record, item] = [await stage.record(id), await stage.item(id)];
    expect(record).toMatchObject({ state: 'completed', attempt: 2 });
    expect(item).toMatchObject({ by: { N: String(taken.pid) } });

    first.thaw();
    expect(await found(id, 2)).toEqual({ assertHeld: 'LEASE_LOST', aborted: true, step: 'LEASE_LOST', put: 'STALE_TOKEN', update: 'STALE_TOKEN' });
    // Its completion is refused, and it answers what its successor did.
    expect(await old).toMatchObject({ kind: 'response', payload: payloadOf(taken), leftovers: CLEAN });
    expect([await stage.record(id), await stage.item(id)]).toEqual([record, item]);
    expect(stage.ledger.of(id, 'late step')).toHaveLength(1);
  });

  it('I4 I5 in the middle of a job, past its lease: the next holder has a larger token; thawed, the old one is told, and can neither write nor renew nor release', async () => {
    const id = 'frozen job';
    const JOB = 'lambda/frozen-job';
    const [first, second] = await Promise.all([warm('nightly', { leaseMs: LEASE_MS }, { JOB }), warm('nightly', { leaseMs: LEASE_MS }, { JOB })]);
    const event = { ...scheduledEvent(), order: { id, task: 'fenced' } };
    const old = first.invoke(event);
    await stage.ledger.reached(id, 'fenced');
    await pause(LEASE_MS / 2);
    expect(isSkipped(await second.invoke(event))).toBe(true);

    first.freeze();
    const taking = untilTaken(second, event, isSkipped);
    await stage.ledger.reached(id, 'fenced', 2);
    stage.ledger.letGo(id);
    const taken = await taking;
    expect(await found(id)).toMatchObject({ assertHeld: 'done', put: 'done', update: 'done' });
    const [oldToken, newToken] = stage.ledger.of(id, 'begun').map(({ facts }) => Number(facts.token));
    expect(payloadOf(taken)).toEqual({ token: newToken, by: taken.pid });
    expect(newToken).toBeGreaterThan(Number(oldToken));
    const item = await stage.item(id);
    const state = await storeLeases(stage.store).read(JOB);

    first.thaw();
    expect(await found(id, 2)).toEqual({
      assertHeld: 'LEASE_LOST',
      aborted: true,
      renew: 'LEASE_LOST',
      release: 'lost',
      put: 'STALE_TOKEN',
      update: 'STALE_TOKEN',
    });
    expect(await old).toMatchObject({ kind: 'response', leftovers: CLEAN });
    expect(await stage.item(id)).toEqual(item);
    expect(await storeLeases(stage.store).read(JOB)).toEqual(state);
    // The slot is done, by the one who held it last.
    expect(isSkipped(await first.invoke(event))).toBe(true);
  });

  it.each([
    { when: 'while its lease would still last', frozenMs: 0 },
    { when: 'past its lease', frozenMs: LEASE_MS + 500 },
  ])(
    'I4 work that nobody awaited wakes up in a later invocation, $when: assertHeld throws, its step is not begun, nothing is renewed',
    async ({ frozenMs }) => {
      const id = `left for ${frozenMs}`;
      const sandbox = await warm('order', { leaseMs: LEASE_MS, renew: 'auto' });
      const answered = await sandbox.invoke({ id, task: 'leave' });
      // It holds a connection: that is how such work is found.
      expect(answered).toMatchObject({ kind: 'response', leftovers: { active: ['TCPSocketWrap'], timers: [] } });
      const before = await stage.record(id);
      expect(before.state).toBe('completed');

      const later = { id: `after ${id}`, task: 'hold' };
      const next = sandbox.invoke(later, { frozenMs });
      await stage.ledger.reached(later.id, 'holds');
      stage.ledger.letGo(id);
      const { assertHeld, step } = await found(id);
      // Longer than a renewal would need.
      await pause(LEASE_MS / 2);
      stage.ledger.letGo(later.id);
      expect(await next).toMatchObject({ kind: 'response', payload: { attempt: 1 }, leftovers: CLEAN });
      expect(await stage.record(id)).toEqual(before);
      expect({ assertHeld, step, begun: stage.ledger.of(id, 'late step').length }).toEqual({
        assertHeld: 'LEASE_LOST',
        step: 'LEASE_LOST',
        begun: 0,
      });
    },
  );

  it('I4 I5 trusts no lease of an earlier invocation: the next one acquires anew, and what is left of the old one cannot touch it', async () => {
    const JOB = 'lambda/each-anew';
    const leases = storeLeases(stage.store);
    const sandbox = await warm('nightly', { slot: false, leaseMs: 2_000 }, { JOB });
    const eventFor = (id: string, task: string) => ({ ...scheduledEvent(), order: { id, task } });
    const answered = await sandbox.invoke(eventFor('left job', 'leave'));
    const { token: firstToken } = payloadOf<{ token: number }>(answered);
    expect(await leases.read(JOB)).toMatchObject({ held: false, token: firstToken });

    const next = sandbox.invoke(eventFor('next job', 'hold'));
    await stage.ledger.reached('next job', 'holds');
    const held = await leases.read(JOB);
    expect(held?.held).toBe(true);
    expect(held?.token).toBeGreaterThan(firstToken);
    stage.ledger.letGo('left job');
    expect(await found('left job')).toMatchObject({ assertHeld: 'LEASE_LOST', renew: 'LEASE_LOST', release: 'released' });
    expect(await leases.read(JOB)).toMatchObject({ held: true, owner: held?.owner, token: held?.token });
    stage.ledger.letGo('next job');
    expect(payloadOf(await next)).toEqual({ token: held?.token, by: answered.pid });

    // An operator breaks what is long free, and another holder comes and goes, all while it is frozen.
    await leases.break(JOB);
    const broken = await leases.read(JOB);
    const third = payloadOf<{ token: number }>(await sandbox.invoke(eventFor('third job', 'charge'), { frozenMs: 500 }));
    expect(third.token).toBeGreaterThan(Number(broken?.token));
  });

  it('I12 for longer than any lease, between invocations: the next one is served by the same process, as if nothing had been', async () => {
    const sandbox = await warm('order', { leaseMs: LEASE_MS, renew: 'auto' });
    const before = await sandbox.invoke({ id: 'before the frost', task: 'charge' });
    const after = await sandbox.invoke({ id: 'after the frost', task: 'charge' }, { frozenMs: LEASE_MS + 3_000 });
    expect(after).toMatchObject({ kind: 'response', pid: before.pid, payload: { attempt: 1 }, leftovers: CLEAN });
    expect(payloadOf(await sandbox.invoke({ id: 'before the frost', task: 'charge' }))).toEqual(payloadOf(before));
    expect(sandbox.output).toBe('');
  });

  it('I7 whose connections the service has closed meanwhile: the next invocation goes on over new ones, and runs once', async () => {
    const relay = await startRelay(stage.endpoint);
    try {
      const sandbox = await warm('order', {}, { AWS_ENDPOINT_URL_DYNAMODB: relay.endpoint });
      const before = relay.connections;
      relay.cut();
      const id = 'over new ones';
      const after = await sandbox.invoke({ id, task: 'charge' }, { frozenMs: 300 });
      expect(after).toMatchObject({ kind: 'response', payload: { attempt: 1 }, leftovers: CLEAN });
      expect(relay.connections).toBeGreaterThan(before);
      expect(await stage.record(id)).toMatchObject({ state: 'completed', attempt: 1 });
      expect(stage.ledger.of(id, 'charged')).toHaveLength(1);
    } finally {
      await relay.close();
    }
  });
});
