import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ROOT } from '../../scripts/run.ts';
import { javaAvailable } from '../support/dynamodb.ts';
import type { Invoked } from '../support/lambda-runtime/environment.ts';
import { BATCHES, partner, payment, SINGLE, statement, till } from './sample-events.ts';
import { openSample, type SampleStage } from './sample-stage.ts';
import { payloadOf } from './stage.ts';

vi.setConfig({ testTimeout: 60_000 });
const CLEAN = { active: [], timers: [] };
const replayed = { 'Idempotent-Replayed': 'true' };
/** An answer that left nothing behind. */
const clean = <T>(invoked: Invoked): T => {
  expect(invoked).toMatchObject({ leftovers: CLEAN });
  return payloadOf<T>(invoked);
};
/** `fetch` keeps its connection for the next request, and the sample limits a request by a timer that nobody cancels: no others may be left. */
const cleanButFetch = <T>(invoked: Invoked): T => {
  const { active = ['ended'], timers = [] } = ('leftovers' in invoked ? invoked.leftovers : undefined) ?? {};
  expect([active, timers.filter((origin) => !/functions.dist.provider\.js|undici/.test(origin))]).toEqual([[], []]);
  return payloadOf<T>(invoked);
};

describe.runIf(await javaAvailable())('the sample app in sandboxes', () => {
  let stage: SampleStage;
  beforeAll(async () => {
    stage = await openSample();
  });
  afterAll(() => stage?.close());

  describe('each event comes twice, to two of them', () => {
    it('I1 I2 API Gateway REST and a load balancer: redeemed once, whoever asks, and each is told the same again', async () => {
      await stage.with('vouchers', async (first, second) => {
        expect(clean(await first.invoke(partner({ code: 'v-1' })))).toMatchObject({ statusCode: 200 });
        const items = await stage.items('voucher/v-1');
        expect(clean(await second.invoke(partner({ code: 'v-1' })))).toMatchObject({
          statusCode: 200,
          headers: replayed,
        });
        const late = { statusCode: 410, body: '{"error":"redeemed before"}' };
        expect(clean(await second.invoke(till({ code: 'v-1' })))).toMatchObject({ ...late });
        expect(clean(await first.invoke(till({ code: 'v-1' })))).toMatchObject({ ...late, statusDescription: '410 Gone', headers: replayed });
        expect(await stage.items('voucher/v-1')).toEqual(items);
        expect(items).toHaveLength(1);
      });
    });

    it('I2 a function URL that streams: the same statement again, whatever was ordered since', async () => {
      const streamed = (invoked: Invoked) => {
        expect(invoked).toMatchObject({ kind: 'response', leftovers: CLEAN });
        const { prelude, body } = (invoked as { streamed: { prelude: object; body: Buffer } }).streamed;
        return { prelude, text: body.toString() };
      };
      await stage.with('statement', async (first, second) => {
        await stage.order('url-1');
        const made = streamed(await first.invoke(statement('may')));
        expect(made.prelude).toMatchObject({ statusCode: 200, headers: { 'content-type': 'text/csv' } });
        expect(made.text).toMatch(/^order,customer,amount\n/);
        expect(made.text).toContain('"url-1","A ""B"" C",4200\n');
        await stage.order('url-2');
        const again = streamed(await second.invoke(statement('may')));
        expect(again).toMatchObject({ prelude: { statusCode: 200, headers: { 'content-type': 'text/csv', ...replayed } }, text: made.text });
        expect(streamed(await second.invoke(statement('june'))).text).toContain('"url-2",');
      });
    });

    it.each(SINGLE)('I1 I2 $source: done once, the same answer', async ({ name, event, mention, answer }) => {
      await stage.with(name, async (first, second) => {
        const given = payloadOf(await first.invoke(event));
        expect(given).toEqual(answer);
        const items = await stage.items(mention);
        expect(items).toHaveLength(1);
        expect(clean(await second.invoke(event))).toEqual(given);
        expect(await stage.items(mention)).toEqual(items);
        if (name === 'nightly') expect(stage.provider.statements()).toBe(1);
      });
    });

    it.each(BATCHES)('I1 I3 $source: what failed is reported, and comes back; what was done is left alone', async ({ name, tag, event, ...told }) => {
      await stage.with(name, async (first, second) => {
        const failing = stage.break(`${tag}-3`);
        const answered = await first.invoke(event);
        expect(answered).toMatchObject({ leftovers: CLEAN, ...('kind' in told.first ? told.first : { kind: 'response' }) });
        if (!('kind' in told.first)) expect(payloadOf(answered)).toEqual(told.first);
        const before = await stage.items(`${tag}-`);
        expect(before).toHaveLength(told.done);
        failing.mend();
        expect(clean(await second.invoke(event))).toEqual(told.again);
        const after = await stage.items(`${tag}-`);
        expect(after).toHaveLength(4);
        expect(after).toEqual(expect.arrayContaining(before));
        expect(clean(await first.invoke(event))).toEqual(told.again);
        expect(await stage.items(`${tag}-`)).toEqual(after);
        // Two, the one that failed, and again from there.
        if (name === 'views') expect(stage.transactions()).toBe(5);
      });
    });
  });

  describe('what asks the payment provider', () => {
    it('I1 I2 I6 an HTTP API: charged once; 409 for the duplicate in flight, and then the same bytes', async () => {
      await stage.with('payments', async (first, second) => {
        const held = stage.provider.holdNext('charges');
        const running = first.invoke(payment('http-1'));
        await held.arrived;
        expect(clean(await second.invoke(payment('http-1')))).toMatchObject({ statusCode: 409, headers: { 'retry-after': expect.any(String) } });
        held.release();
        const answer = cleanButFetch<{ statusCode: number; body: string }>(await running);
        expect(answer.statusCode).toBe(201);
        expect(clean(await second.invoke(payment('http-1')))).toMatchObject({ statusCode: 201, body: answer.body, headers: replayed });
        expect(clean(await second.invoke(payment('http-2')))).toMatchObject({ statusCode: 422 });
        expect(stage.provider.keysOf('http-1')).toHaveLength(1);
        expect(stage.provider.chargesOf('http-2')).toEqual([]);
      });
    });

    it('I1 I2 I9 a direct invocation, a task of a state machine: paid back once, the same answer, another amount refused', async () => {
      const refund = { refundId: 'r-1', orderId: 'refund-1', amount: 4200, currency: 'EUR' };
      await stage.with('refund', async (first, second) => {
        const answer = cleanButFetch(await first.invoke(refund));
        expect(answer).toEqual({ refundId: 'r-1', chargeId: expect.any(String) });
        expect(clean(await second.invoke(refund))).toEqual(answer);
        const refused = (name: string) => ({ kind: 'error', errorType: name, leftovers: CLEAN });
        expect(await second.invoke({ ...refund, amount: 1 })).toMatchObject(refused('RerunSafe.KEY_REUSED'));
        const durable = { DurableExecutionArn: 'arn:aws:lambda:x', CheckpointToken: 't', InitialExecutionState: {} };
        expect(await second.invoke(durable)).toMatchObject(refused('RerunSafe.INVALID_OPTIONS'));
        expect(stage.provider.keysOf('refund-1')).toHaveLength(1);
      });
    });
  });

  describe('afterwards', () => {
    it('I12 every function of the sample has run, and no record is left open', async () => {
      const states = new Map<string, Set<string>>();
      for await (const { record } of stage.store.list({})) {
        states.set(record.operation, (states.get(record.operation) ?? new Set()).add(record.state));
      }
      // A lease that was given up.
      expect(states.get('rerunsafe/lease')).toEqual(new Set(['released']));
      states.delete('rerunsafe/lease');
      for (const [operation, found] of states) expect([operation, ...found]).toEqual([operation, 'completed']);
      expect([...states.keys()].sort()).toEqual(operationsOfTheSample());
    });
  });
});

function operationsOfTheSample(): string[] {
  const folder = join(ROOT, 'functions/aws');
  const source = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  return [...source.join('\n').matchAll(/\boperation: '([^']+)'/g)].map(([, operation]) => operation as string).sort();
}
