import { describe, expect, it } from 'vitest';
import { bindHttp, guardHttp, HttpNotKept } from '../../../src/http/guard-http.ts';
import { currentRun, memoryStore, PermanentError, type Run, runOnce } from '../../../src/index.ts';
import { headerOf, operation, problemOf, reply, textOf, view } from './exchange.ts';

describe('what the handler throws', () => {
  it('goes through untouched, and the key may run again', async () => {
    const thrown = { not: 'an error' };
    const charge = operation({}, (n) => {
      if (n === 1) throw thrown;
      return reply(200, `${n}`);
    });
    await expect(charge.send()).rejects.toBe(thrown);
    expect(textOf(await charge.send())).toBe('2');
  });

  it('I2 is remembered when it is permanent', async () => {
    const charge = operation({}, () => {
      throw new PermanentError('declined', { code: 'card_declined' });
    });
    await expect(charge.send()).rejects.toThrow('declined');
    await expect(charge.send()).rejects.toMatchObject({ message: 'declined', code: 'card_declined' });
    expect(charge.calls).toBe(1);
  });

  it('is no refusal of ours when it comes from a guarded call further down', async () => {
    const store = memoryStore();
    const inner = { store, operation: 'inner', key: 'k' };
    const charge = operation({}, async () => reply(await runOnce<number>({ ...inner, input: 2 }, () => 200)));
    await runOnce({ ...inner, input: 1 }, () => 1);
    await expect(charge.send()).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });

  it('is judged alike when it is a reply that is not kept', async () => {
    const judged: unknown[] = [];
    const blocked = operation({ onUnknown: 'block' }, () => reply(502));
    expect((await blocked.send()).status).toBe(502);
    expect(problemOf(await blocked.send()).code).toBe('BLOCKED');
    const asked = operation(
      {
        onUnknown: 'block',
        onThrow: (error) => {
          judged.push(error);
          return error instanceof HttpNotKept && error.status === 429 ? 'release' : 'remember';
        },
      },
      (n) => reply(n === 1 ? 429 : 502, `${n}`),
    );
    expect((await asked.send()).status).toBe(429);
    expect(textOf(await asked.send())).toBe('2');
    expect([textOf(await asked.send()), judged.length]).toEqual(['2', 2]);
  });
});

describe('an unknown outcome', () => {
  it('I8 is resolved by a reply, kept like any other', async () => {
    let asked = 0;
    const charge = operation(
      {
        onThrow: () => 'unknown',
        onUnknown: () => {
          asked += 1;
          return { done: reply(201, 'found', [['set-cookie', 'a=1']]) };
        },
      },
      () => {
        throw new Error('timed out');
      },
    );
    await expect(charge.send()).rejects.toThrow('timed out');
    const answers = [await charge.send(), await charge.send()];
    expect(answers.map((a) => [a.status, textOf(a), headerOf(a, 'set-cookie')])).toEqual([
      [201, 'found', undefined],
      [201, 'found', undefined],
    ]);
    expect([asked, charge.calls]).toEqual([1, 1]);
  });
});

describe('the run of a handler', () => {
  const headers = { 'idempotency-key': 'k' };
  const store = memoryStore();
  const bound = (name: string, leaseMs = 60_000) => bindHttp<unknown>('test', { store, operation: name, scope: 'public', leaseMs, renew: 'none' });
  const commit = (run: Run, value: unknown): Promise<void> =>
    run.commit(value, ({ id, record, version }) => (version === undefined ? store.create(id, record) : store.replace(id, record, version)));

  it('I1 commits a reply together with other rows, and what it returns afterwards changes nothing', async () => {
    const committing = bound('commits');
    const answer = await guardHttp(committing, {}, view({ headers }), {}, async (run) => {
      expect(currentRun()).toBe(run);
      await commit(run as Run, reply(201, 'committed', [['set-cookie', 'a=1']]));
      return reply(500, 'too late');
    });
    expect([answer.status, textOf(answer), answer.headers]).toEqual([201, 'committed', [['set-cookie', 'a=1']]]);
    const replayed = await guardHttp(committing, {}, view({ headers }), {}, async () => reply(200, 'never'));
    expect([replayed.status, textOf(replayed), replayed.headers]).toEqual([201, 'committed', [['Idempotent-Replayed', 'true']]]);
  });

  it('I4 answers 503 when its lease was lost, whether the check or the signal told the handler', async () => {
    const stop = [(run: Run) => run.assertHeld(), (run: Run) => run.signal.throwIfAborted()];
    for (const [index, check] of stop.entries()) {
      const answer = await guardHttp(bound(`loses ${index}`, 300), {}, view({ headers }), {}, async (run) => {
        await new Promise((resolve) => (run as Run).signal.addEventListener('abort', resolve));
        check(run as Run);
        return reply(200);
      });
      expect([answer.status, problemOf(answer).code]).toEqual([503, 'LEASE_LOST']);
    }
  });

  it('throws what the work of a step threw, as its own', async () => {
    const inner = { store, operation: 'inner step', key: 'k' };
    await runOnce({ ...inner, input: 1 }, () => 1);
    const sent = guardHttp(bound('steps'), {}, view({ headers }), {}, async (run) => {
      await (run as Run).step('one', () => runOnce({ ...inner, input: 2 }, () => 1));
      return reply(200);
    });
    await expect(sent).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });

  it('answers 500 when a step name is used twice', async () => {
    const answer = await guardHttp(bound('twice'), {}, view({ headers }), {}, async (run) => {
      await (run as Run).step('one', () => 1);
      await (run as Run).step('one', () => 1);
      return reply(200);
    });
    expect([answer.status, problemOf(answer).code]).toEqual([500, 'DUPLICATE_STEP']);
  });
});
