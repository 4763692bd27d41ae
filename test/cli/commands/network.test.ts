import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forget } from '../../../src/cli/commands/forget.ts';
import { list } from '../../../src/cli/commands/list.ts';
import { resolve } from '../../../src/cli/commands/resolve.ts';
import { show } from '../../../src/cli/commands/show.ts';
import { status } from '../../../src/cli/commands/status.ts';
import { unlock } from '../../../src/cli/commands/unlock.ts';
import { incompressible } from '../../support/incompressible.ts';
import { dynalite, redises, type StoreSubject } from '../../support/stores.ts';
import { begin, both, end, placeOf, printed, run, succeed } from './stage.ts';

for (const kind of [dynalite, ...(await redises())]) {
  describe(`the commands on ${kind.name}`, () => {
    let subject: StoreSubject;
    beforeAll(async () => {
      subject = await kind.start();
    });
    afterAll(() => subject.stop());
    const known = (key: string) => both((out) => status({ place: placeOf(subject.store), what: run(key), out }));

    it('I8 tell the truth of each standing, with the exit codes as on any store, and carry a word', async () => {
      const { store } = subject;
      const place = placeOf(store);
      await succeed(store, 'done');
      await end(store, 'failed', 'release');
      await end(store, 'blocked', 'block', 'exit code 3');
      await end(store, 'unknown', 'unknown');
      const running = await begin(store, 'running');
      const codes = await Promise.all(['done', 'failed', 'blocked', 'unknown', 'running', 'none'].map(async (key) => (await known(key)).exitCode));
      expect(codes).toEqual([0, 1, 76, 3, 75, 3]);
      const { out } = printed();
      expect(await resolve({ place, what: run('unknown'), as: 'done', by: 'ann', out })).toBe(0);
      expect(await resolve({ place, what: run('blocked'), as: 'not-done', out })).toBe(0);
      expect(await forget({ place, what: run('done'), out })).toBe(0);
      expect(await forget({ place, what: run('running'), out })).toBe(75);
      expect((await known('unknown')).text).toMatch(/done, by the word of ann/);
      expect((await known('blocked')).json.state).toBe('not-done');
      expect((await known('done')).json.state).toBe('forgotten');
      await running.finish();
      expect((await known('running')).exitCode).toBe(0);
      const json = printed({ json: true });
      await list({ place, state: 'completed', out: json.out });
      expect(json.json().map(({ key }) => key)).toEqual(['running', 'unknown']);
      await place.leases.acquire('lock', { owner: 'o', leaseMs: 60_000 });
      expect(await unlock({ place, name: 'lock', force: true, out })).toBe(0);
      expect(await status({ place, what: { kind: 'lease', name: 'lock' }, out })).toBe(3);
    });

    it('shows an outcome that lies beside its record, in parts where the store has them', async () => {
      const text = incompressible(600_000);
      await succeed(subject.store, 'large', { text });
      const said = await both((out) => show({ place: placeOf(subject.store), what: run('large'), out }));
      expect(said).toMatchObject({ exitCode: 0, json: { state: 'done', outcome: { kind: 'value' } } });
      expect((said.json.outcome as { value: unknown }).value).toEqual({ text });
    });
  });
}
