import { describe, expect, it } from 'vitest';
import { forgetRun, resolveRun } from '../../src/index.ts';
import type { Promised } from './promises.ts';
import { held, OPERATION } from './promises-case.ts';

const forbidden = (): never => {
  throw new Error('the work ran');
};

export function personPromises({ fresh }: Promised): void {
  describe('what a person says', () => {
    it.concurrent('I1 I8 a blocked run that is resolved as done has that outcome for everybody', async () => {
      const { run, seed, store, key } = fresh({ onUnknown: 'block' });
      await seed({ leaseMs: 0 });
      expect(await run(forbidden)).toMatchObject({ kind: 'blocked' });
      expect(await resolveRun({ store, operation: OPERATION, key }, { done: 'found' })).toEqual({ kind: 'written' });
      expect(await run(forbidden)).toMatchObject({ value: 'found', replayed: true });
    });

    it.concurrent('I8 a blocked run that is resolved as not done runs again', async () => {
      const { run, seed, store, key } = fresh({ onUnknown: 'block' });
      await seed({ leaseMs: 0 });
      expect(await run(forbidden)).toMatchObject({ kind: 'blocked' });
      expect(await resolveRun({ store, operation: OPERATION, key }, 'not-done')).toEqual({ kind: 'written' });
      expect(await run(() => 'ran')).toMatchObject({ value: 'ran', replayed: false });
    });

    it.concurrent('I4 I5 forgetting fences a live owner: its late result is not kept, and the token has grown', async () => {
      const { run, store, key, stands } = fresh();
      const work = held<string>();
      const running = run(work.work);
      await work.started;
      const before = (await stands())?.record.token ?? Number.POSITIVE_INFINITY;
      expect(await forgetRun({ store, operation: OPERATION, key })).toMatchObject({ kind: 'running' });
      expect(await forgetRun({ store, operation: OPERATION, key, force: true })).toEqual({ kind: 'written' });
      expect(await run((own) => Number(own.token) > before)).toMatchObject({ value: true, replayed: false });
      work.end('late');
      expect(await running).toMatchObject({ value: true, replayed: true });
    });
  });
}
