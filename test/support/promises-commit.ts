import { describe, expect, it } from 'vitest';
import type { RecordStore, WriteResult } from '../../src/core/ports.ts';
import { type CommitRequest, RerunSafeError, type Run } from '../../src/index.ts';
import type { Promised } from './promises.ts';
import { gate, LONG_MS, SHORT_MS, until } from './promises-case.ts';

const inDoubt = (): RerunSafeError => new RerunSafeError('WRITE_UNKNOWN', 'the answer was lost');

/** Stands for a transaction: the record alone, on its condition. */
const over =
  (store: RecordStore) =>
  ({ id, record, version }: CommitRequest): Promise<WriteResult> =>
    version === undefined ? store.create(id, record) : store.replace(id, record, version);

export function commitPromises({ fresh }: Promised): void {
  describe('commit', () => {
    it.concurrent('I1 I3 the commit is the completion: what the work returns or throws afterwards changes nothing', async () => {
      const returned = fresh();
      const returning = async (run: { commit(value: string, send: ReturnType<typeof over>): Promise<void> }): Promise<string> => {
        await run.commit('committed', over(returned.direct));
        return 'returned';
      };
      expect(await returned.run(returning)).toMatchObject({ value: 'committed', saved: true, replayed: false });
      expect(await returned.run(() => 'again')).toMatchObject({ value: 'committed', replayed: true });

      const thrown = fresh();
      const throwing = async (run: { commit(value: string, send: ReturnType<typeof over>): Promise<void> }): Promise<string> => {
        await run.commit('committed', over(thrown.direct));
        throw new Error('afterwards');
      };
      expect(await thrown.run(throwing)).toMatchObject({ value: 'committed', saved: true });
    });

    it.concurrent.each([
      ['said to be unknown', inDoubt],
      ["the driver's own error", () => new Error('socket hang up')],
    ])('I7 the answer of the transaction was lost (%s): committed, and sent once', async (_, failure) => {
      const c = fresh();
      let landed = 0;
      const result = await c.run<string>(async (run) => {
        await run.commit('committed', async (request) => {
          const answer = await over(c.direct)(request);
          if (!answer.ok) return answer;
          landed += 1;
          throw failure();
        });
        return 'returned';
      });
      expect(result).toMatchObject({ value: 'committed', saved: true });
      expect(landed).toBe(1);
    });

    it.concurrent('I7 the version had been moved by a renewal without an answer: the commit finds the new one', async () => {
      const c = fresh({ leaseMs: 3_000 });
      c.plan.replace = () => 'lost-answer';
      const versions: unknown[] = [];
      const result = await c.run<string>(async (run) => {
        await until('a renewal was sent', () => c.store.calls.some(({ operation, answer }) => operation === 'replace' && answer !== undefined));
        await run.commit('committed', (request) => {
          versions.push(request.version);
          return over(c.direct)(request);
        });
        return 'returned';
      });
      expect(result).toMatchObject({ value: 'committed', saved: true, attempt: 1 });
      expect(versions.length).toBeGreaterThan(1);
      expect(new Set(versions).size).toBe(versions.length);
    });

    it.concurrent('I4 another owner has it: LEASE_LOST, and nothing was written', async () => {
      const c = fresh({ leaseMs: SHORT_MS, renew: 'none' });
      const resume = gate();
      const answers: WriteResult[] = [];
      const first = c.run<string>(async (run) => {
        await resume.opened;
        await run.commit('one', async (request) => {
          const answer = await over(c.direct)(request);
          answers.push(answer);
          return answer;
        });
        return 'returned';
      });
      await c.lapse();
      expect(await c.run(() => 'two', { leaseMs: LONG_MS })).toMatchObject({ value: 'two' });
      const settled = await c.row();
      resume.open();
      await expect(first).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(answers.every((answer) => !answer.ok)).toBe(true);
      expect(await c.row()).toBe(settled);
    });

    it.concurrent('I10 a step, a second commit, and the end of an earlier step, all inside of a commit, are refused instead of waited for', async () => {
      const c = fresh();
      const codes: unknown[] = [];
      const result = await c.run<string>(async (run) => {
        const go = gate();
        const earlier = run.step('earlier', () => go.opened.then(() => 'done'));
        await run.commit('committed', async (request) => {
          go.open();
          const refused = [run.step('inside', () => 1), run.commit('again', over(c.direct)), earlier];
          for (const outcome of await Promise.allSettled(refused))
            codes.push(outcome.status === 'rejected' ? (outcome.reason as { code: unknown }).code : outcome);
          return over(c.direct)(request);
        });
        return 'returned';
      });
      expect(codes).toEqual(['INVALID_OPTIONS', 'INVALID_OPTIONS', 'INVALID_OPTIONS']);
      expect(result).toMatchObject({ value: 'committed', saved: true });
    });

    it.concurrent('I8 a transaction that is known to have failed goes to the work, which may go on', async () => {
      const c = fresh();
      const failure = new Error('a rule of the business');
      const result = await c.run<string>(async (run) => {
        const caught = await run.commit('committed', () => Promise.reject(failure)).catch((error: unknown) => error);
        expect(caught).toBe(failure);
        return 'returned';
      });
      expect(result).toMatchObject({ value: 'returned', saved: true });
    });

    it.concurrent('I3 messages of the outbox come with the commit, under the same ids in every attempt', async () => {
      const c = fresh();
      const seen: string[][] = [];
      const work = async (run: Run<string>): Promise<string> => {
        run.outbox.add({ topic: 'orders/placed', payload: { order: 7 }, key: 'order 7' });
        run.outbox.add({ topic: 'mails/send', payload: 'thanks', name: 'thanks' });
        await run.commit('committed', async (request) => {
          seen.push(request.messages.map(({ id }) => id));
          expect(request.messages.map(({ id: _, ...message }) => message)).toEqual([
            { topic: 'orders/placed', payload: { order: 7 }, key: 'order 7', position: 0 },
            { topic: 'mails/send', payload: 'thanks', key: undefined, position: 1 },
          ]);
          expect(request.store).toBe(c.store);
          if (seen.length === 1) throw new Error('a rule of the business');
          return over(c.direct)(request);
        });
        expect(() => run.outbox.add({ topic: 'late', payload: 1 })).toThrowError(expect.objectContaining({ code: 'DUPLICATE_STEP' }));
        return 'returned';
      };
      await expect(c.run(work)).rejects.toThrow('a rule of the business');
      expect(await c.run(work)).toMatchObject({ value: 'committed', saved: true });
      expect(seen[1]).toEqual(seen[0]);
      expect(new Set(seen[0]).size).toBe(2);
    });

    it.concurrent('I3 messages that no commit has written are not lost in silence: the run fails, and may run again', async () => {
      const c = fresh();
      const forgotten = c.run((run) => run.outbox.add({ topic: 'orders/placed', payload: 7 }));
      await expect(forgotten).rejects.toMatchObject({ code: 'INVALID_OPTIONS', message: expect.stringContaining('commitWith') });
      expect((await c.stands())?.record.state).toBe('released');
    });

    it.concurrent('I8 a commit that stays in doubt is thrown, never guessed, and the record is left to lapse', async () => {
      const c = fresh({ leaseMs: SHORT_MS });
      const first = c.run<string>(async (run) => {
        await run.commit('committed', () => Promise.reject(inDoubt()));
        return 'returned';
      });
      await expect(first).rejects.toMatchObject({ code: 'WRITE_UNKNOWN' });
      expect((await c.stands())?.record.state).toBe('running');
    });
  });
}
