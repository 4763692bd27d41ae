import { describe, expect, it } from 'vitest';
import { guardAnswers } from '../../../src/http/guard-answers.ts';
import { bindHttp, type HttpOptions, type HttpReply } from '../../../src/http/guard-http.ts';
import { isRejected, reject } from '../../../src/http/reject.ts';
import { currentRun, memoryStore } from '../../../src/index.ts';
import { problemOf, reply, textOf, view } from './exchange.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Answers in the shape of a platform of our own. */
function service(options: Partial<HttpOptions<unknown>>, handle: (call: number, body: string) => Answer | Promise<Answer>) {
  const store = memoryStore();
  const bound = bindHttp<unknown>('test', { store, operation: 'orders', scope: 'public', ...options });
  let calls = 0;
  return {
    store,
    async send(body: string): Promise<HttpReply> {
      const seen = view({ headers: { 'idempotency-key': 'k' }, body });
      const answering = {
        handle: () => handle(++calls, body),
        replyFrom: ({ status, text }: Answer) => {
          if (text === 'malformed') throw new TypeError('malformed');
          return reply(status, text);
        },
      };
      const guarded = await guardAnswers<unknown, Answer, HttpReply>(bound, {}, seen, {}, answering);
      return guarded.kind === 'passed' ? reply(0) : guarded.reply;
    },
  };
}

const checked = (_call: number, body: string): Answer => (body === 'bad' ? reject({ status: 400, text: 'what?' }) : { status: 201, text: body });

describe('an answer that rejects its request', () => {
  it.each([
    ['', {}],
    [', also where failures are unknown', { onUnknown: 'block' as const }],
    [', whatever `keep` and `onThrow` say', { keep: () => true, onThrow: () => 'remember' as const }],
  ])('I9 goes out, and a corrected request may use the key%s', async (_, options) => {
    const orders = service(options, checked);
    const answers = [await orders.send('bad'), await orders.send('bad'), await orders.send('good'), await orders.send('good')];
    expect(answers.map((a) => [a.status, textOf(a)])).toEqual([
      [400, 'what?'],
      [400, 'what?'],
      [201, 'good'],
      [201, 'good'],
    ]);
    expect((await orders.send('bad')).status).toBe(422);
  });

  it('leaves nothing of the request in its record', async () => {
    const orders = service({}, checked);
    await orders.send('bad');
    for await (const { record } of orders.store.list({})) {
      expect([record.state, record.attempt, record.fingerprint, record.outcome]).toEqual(['released', 0, undefined, undefined]);
    }
  });

  it('I9 keeps the key bound to its request once a step was done, or an earlier attempt made', async () => {
    const stepped = service({}, async () => {
      await currentRun()?.step('charge', () => 1);
      return reject({ status: 400, text: 'too late' });
    });
    expect((await stepped.send('bad')).status).toBe(400);
    expect((await stepped.send('good')).status).toBe(422);
    const second = service({}, (call) => (call === 1 ? { status: 503, text: '' } : reject({ status: 400, text: '' })));
    await second.send('one');
    expect((await second.send('one')).status).toBe(400);
    expect((await second.send('two')).status).toBe(422);
  });

  it('I8 of an attempt after an unknown one leaves that unknown', async () => {
    const verdicts = ['unknown', 'withdraw'] as const;
    const orders = service({ onUnknown: () => 'not-done' as const, onThrow: () => verdicts[0] }, (call) => {
      if (call === 1) throw new Error('timed out');
      return reject({ status: 400, text: '' });
    });
    await expect(orders.send('one')).rejects.toThrow('timed out');
    expect((await orders.send('one')).status).toBe(400);
    for await (const { record } of orders.store.list({})) expect([record.state, record.leaseMs]).toEqual(['running', 0]);
    expect((await orders.send('two')).status).toBe(422);
  });

  it('is withdrawn even when it cannot be sent: nothing was begun', async () => {
    const orders = service({}, (call) => (call === 1 ? reject({ status: 400, text: 'malformed' }) : { status: 201, text: '' }));
    await expect(orders.send('one')).rejects.toThrow('malformed');
    expect((await orders.send('two')).status).toBe(201);
  });

  it('has to be returned as it is: a copy is an answer like any other, and so is what was given', async () => {
    const constant = { status: 400, text: '' };
    const orders = service({}, (call) => {
      const marked = reject(constant);
      return call === 1 ? marked : call === 2 ? constant : { ...marked };
    });
    await orders.send('one');
    expect((await orders.send('two')).status).toBe(400);
    const third = await orders.send('three');
    expect([third.status, problemOf(third).code]).toEqual([422, 'KEY_REUSED']);
  });

  it.each([{ status: 200 }, { statusCode: 302 }, {}, { status: 600 }, { status: 'no' }, null, 'text', undefined])('is not %j', (answer) => {
    expect(() => reject(answer as object)).toThrow(TypeError);
  });

  it.each([Object.freeze({ status: 400 }), { statusCode: '422' }, new Response('x', { status: 415 })])('may be %j', (answer) => {
    expect(isRejected(reject(answer))).toBe(true);
  });
});
