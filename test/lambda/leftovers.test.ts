import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { javaAvailable } from '../support/dynamodb.ts';
import type { Invoked } from '../support/lambda-runtime/environment.ts';
import { type Relay, startRelay } from './relay.ts';
import { eventOf, type FunctionName, openStage, type Stage } from './stage.ts';

const CLEAN = { active: [], timers: [] };
/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9';
vi.setConfig({ testTimeout: 60_000 });

/** What the caller of each function is told. */
const ANSWERS: Readonly<Record<FunctionName, Readonly<Record<'done' | 'thrown' | 'in flight' | 'store down', object>>>> = {
  order: {
    done: { kind: 'response', payload: { attempt: 1 } },
    thrown: { kind: 'error', errorMessage: 'declined' },
    'in flight': { kind: 'error', errorMessage: expect.stringContaining('may still be going on') },
    'store down': {
      kind: 'error',
      errorMessage: expect.stringMatching(/did not take the request|No answer to a write|about to reach its time limit/),
    },
  },
  http: {
    done: { kind: 'response', payload: { statusCode: 201 } },
    thrown: { kind: 'error', errorMessage: 'declined' },
    'in flight': { kind: 'response', payload: { statusCode: 409 } },
    'store down': { kind: 'response', payload: { statusCode: 503 } },
  },
  queue: {
    done: { kind: 'response', payload: { batchItemFailures: [] } },
    thrown: { kind: 'response', payload: { batchItemFailures: [{ itemIdentifier: 'm1' }] } },
    'in flight': { kind: 'response', payload: { batchItemFailures: [{ itemIdentifier: 'm1' }] } },
    'store down': { kind: 'response', payload: { batchItemFailures: [{ itemIdentifier: 'm1' }] } },
  },
  nightly: {
    done: { kind: 'response', payload: { token: expect.any(Number) } },
    thrown: { kind: 'error', errorMessage: 'declined' },
    'in flight': { kind: 'response', payload: null },
    'store down': {
      kind: 'error',
      errorMessage: expect.stringMatching(/did not take the request|No answer to a write|about to reach its time limit/),
    },
  },
};

describe.runIf(await javaAvailable()).concurrent('what is left when a function has answered', () => {
  let stage: Stage;
  let silent: Relay;
  beforeAll(async () => {
    stage = await openStage();
    silent = await startRelay();
  });
  afterAll(async () => {
    await stage?.close();
    await silent?.close();
  });

  let nights = 0;
  /** A night of its own for each piece of work. */
  const nightOf = new Map<string, string>();
  const event = (name: FunctionName, id: string, task: string): unknown => {
    if (!nightOf.has(id)) nightOf.set(id, new Date(Date.UTC(2020, 0, ++nights)).toISOString());
    const made = eventOf(name, { id: `${name}-${id}`, task } as never);
    return name === 'nightly' ? { ...(made as object), time: nightOf.get(id) } : made;
  };

  describe.each(['order', 'http', 'queue', 'nightly'] as const)('%s', (name) => {
    const answers = ANSWERS[name];
    const waits = name === 'nightly' ? { onHeld: { waitMs: 15_000 } } : { onInFlight: { waitMs: 15_000 } };
    const isDone = (invoked: Invoked): void => expect(invoked).toMatchObject({ ...answers.done, leftovers: CLEAN });

    it('I12 nothing: after success, a replay, a throw, a refusal', async () => {
      // Tests run side by side: each has a job of its own.
      const settings = { env: { JOB: 'lambda/answers' } };
      const [sandbox, other] = [stage.sandbox(name, {}, settings), stage.sandbox(name, {}, settings)];
      isDone(await sandbox.invoke(event(name, 'done', 'charge')));
      const again = await sandbox.invoke(event(name, 'done', 'charge'));
      expect(again).toMatchObject({ ...(name === 'nightly' ? { kind: 'response', payload: null } : answers.done), leftovers: CLEAN });
      expect(await sandbox.invoke(event(name, 'thrown', 'throw'))).toMatchObject({ ...answers.thrown, leftovers: CLEAN });
      const held = other.invoke(event(name, 'held', 'hold'));
      await stage.ledger.reached(`${name}-held`, 'holds');
      expect(await sandbox.invoke(event(name, 'held', 'hold'))).toMatchObject({ ...answers['in flight'], leftovers: CLEAN });
      stage.ledger.letGo(`${name}-held`);
      isDone(await held);
    });

    it('I12 nothing: after waiting for another, after a renewal, after an early stop', async () => {
      const options = { leaseMs: 3_000, renew: 'auto' };
      const settings = { env: { JOB: 'lambda/renewed' } };
      const [sandbox, other] = [stage.sandbox(name, { ...options, ...waits }, settings), stage.sandbox(name, options, settings)];
      // So that a short lease is not used up by loading an SDK.
      await Promise.all([sandbox, other].map((one, n) => one.invoke(event(name, `before-${n}`, 'charge'))));
      const held = other.invoke(event(name, 'renewed', 'hold'));
      await stage.ledger.reached(`${name}-renewed`, 'holds');
      const waiting = sandbox.invoke(event(name, 'renewed', 'hold'));
      // A renewal, and several looks.
      await pause(1_500);
      stage.ledger.letGo(`${name}-renewed`);
      isDone(await held);
      const waited = await waiting;
      expect(waited).toMatchObject({ ...(name === 'nightly' ? { kind: 'response', payload: null } : answers.done), leftovers: CLEAN });
      const stopped = await sandbox.invoke(event(name, 'stopped', 'heed'), { timeoutMs: 3_000 });
      const isReported = name === 'queue' ? answers.thrown : { kind: 'error', errorType: 'TimeoutError' };
      expect(stopped).toMatchObject({ ...isReported, leftovers: CLEAN });
      expect(stage.ledger.of(`${name}-stopped`, 'stopped')).toHaveLength(1);
    });

    it('I12 nothing: after a store that is down', async () => {
      const sandbox = stage.sandbox(name, {}, { env: { AWS_ENDPOINT_URL_DYNAMODB: NOWHERE } });
      const refused = await sandbox.invoke(event(name, 'down', 'charge'));
      expect(refused).toMatchObject({ ...answers['store down'], leftovers: CLEAN });
      expect(stage.ledger.of(`${name}-down`)).toEqual([]);
    });

    it('I10 I12 nothing: after a store that never answers, and before the limit', async () => {
      const sandbox = stage.sandbox(name, {}, { env: { AWS_ENDPOINT_URL_DYNAMODB: silent.endpoint } });
      const unanswered = await sandbox.invoke(event(name, 'mute', 'charge'), { timeoutMs: 4_000 });
      expect(unanswered).toMatchObject({ ...answers['store down'], leftovers: CLEAN });
      expect(stage.ledger.of(`${name}-mute`)).toEqual([]);
    });
  });
});
