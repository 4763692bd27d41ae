import { describe, expect, it } from 'vitest';
import { forget } from '../../../src/cli/commands/forget.ts';
import { show } from '../../../src/cli/commands/show.ts';
import { status } from '../../../src/cli/commands/status.ts';
import { EXIT } from '../../../src/cli/exit-codes.ts';
import { UsageError } from '../../../src/cli/usage-error.ts';
import { PermanentError } from '../../../src/core/errors.ts';
import { resolveRun } from '../../../src/core/person.ts';
import type { RecordStore } from '../../../src/core/ports.ts';
import { aesSeal } from '../../../src/core/seal.ts';
import { begin, both, commandStage, end, idOf, OPERATION, placeOf, printed, run, runs, succeed } from './stage.ts';

const HOUR_MS = 3_600_000;

describe('status', () => {
  const stage = commandStage();
  const ask = (key: string) => both((out) => status({ place: stage.place, what: run(key), out }));

  /** Brought about by the engine; what is to be said of it, and the exit code. */
  const CASES: readonly (readonly [state: string, exitCode: number, words: RegExp, bring: (store: RecordStore, key: string) => Promise<unknown>])[] =
    [
      ['none', 3, /unknown, nothing is kept of it/, async () => {}],
      ['done', 0, /done, .* by ann@build-7 pid 4711, took 12s; remembered until 2026-/, (store, key) => succeed(store, key)],
      ['done', 0, /remembered for ever/, (store, key) => succeed(store, key, { exitCode: 0 }, { retentionMs: Number.MAX_SAFE_INTEGER })],
      ['done', 0, /its value is not kept/, (store, key) => succeed(store, key, () => {})],
      [
        'done',
        0,
        /by the word of ann .*\(looked\)/,
        async (store, key) => {
          await end(store, key, 'unknown');
          await resolveRun({ store, operation: OPERATION, key, by: 'ann', why: 'looked' }, { done: { exitCode: 0 } });
        },
      ],
      [
        'failed',
        1,
        /failed, .* attempt 1 by process \d+ \(exit code 3\); the next run tries it again/,
        (store, key) => end(store, key, 'release', 'exit code 3'),
      ],
      [
        'failed',
        1,
        /for good: Declined: no money; remembered until/,
        (store, key) =>
          runs(store, key, async () => {
            throw new PermanentError('no money', { name: 'Declined' });
          }),
      ],
      [
        'failed',
        1,
        /for good: Declined: no money/,
        (store, key) =>
          runs(store, key, async () => {
            // Large: it lies packed in the record, and whether it is a value or an error is to be seen inside only.
            throw new PermanentError('no money', { name: 'Declined', data: 'x'.repeat(100_000) });
          }),
      ],
      [
        'running',
        75,
        /running, attempt 1 by process \d+; last sign of life 0ms ago, 1m of its lease left/,
        async (store, key) => void (await begin(store, key)),
      ],
      ['lapsed', 3, /lapsed, nobody knows how it ended: .* does what its --on-unknown says/, (store, key) => end(store, key, 'unknown')],
      [
        'lapsed',
        3,
        /last sign of life .*\(1h ago\)/,
        async (store, key) => {
          await begin(store, key);
          stage.pass(HOUR_MS);
        },
      ],
      [
        'blocked',
        76,
        /blocked, .*it failed, and is not to be tried again by itself \(--on-failure block\) \(exit code 3\)/,
        (store, key) => end(store, key, 'block', 'exit code 3'),
      ],
      [
        'blocked',
        76,
        /an attempt ended, and nobody knows how/,
        async (store, key) => {
          await end(store, key, 'unknown');
          await succeed(store, key, 1, { onUnknown: 'block' });
        },
      ],
      ['not-done', 3, /not done, nothing was begun .*; the next run runs it/, (store, key) => end(store, key, 'withdraw')],
      [
        'not-done',
        3,
        /not done, by the word of somebody/,
        async (store, key) => {
          await end(store, key, 'unknown');
          await resolveRun({ store, operation: OPERATION, key }, 'not-done');
        },
      ],
      [
        'forgotten',
        3,
        /forgotten, forgotten by ann .*; the next run runs it/,
        async (store, key) => {
          await succeed(store, key);
          await forget({ place: placeOf(store), what: run(key), by: 'ann', out: printed().out });
        },
      ],
      [
        'expired',
        3,
        /remembered for 10m from .* and no longer/,
        async (store, key) => {
          await succeed(store, key, 1, { retentionMs: 600_000 });
          stage.pass(HOUR_MS);
        },
      ],
      [
        'unreadable',
        3,
        /whether it succeeded cannot be told: it is sealed/,
        (store, key) => succeed(store, key, 1, { seal: aesSeal({ keys: { a: Buffer.alloc(32).toString('base64') }, current: 'a' }) }),
      ],
    ];

  for (const [n, [state, exitCode, words, bring]] of CASES.entries()) {
    it(`I8 says ${state}, and exits with ${exitCode} (${words.source.slice(0, 40)})`, async () => {
      const key = `case ${n}`;
      await bring(stage.store, key);
      const before = await stage.store.read(idOf(key));
      const said = await ask(key);
      expect(said).toMatchObject({ exitCode, json: { kind: 'run', state, id: idOf(key) } });
      expect(said.text).toMatch(words);
      expect(said.text.startsWith(`"case ${n}": `)).toBe(true);
      // By its id it is the same.
      const byId = await both((out) => status({ place: stage.place, what: { kind: 'id', id: idOf(key) }, out }));
      expect([byId.exitCode, byId.json]).toEqual([exitCode, said.json]);
      // It has written nothing.
      expect((await stage.store.read(idOf(key)))?.version).toBe(before?.version);
    });
  }

  it('I8 what is blocked comes with the very command that ends it, quoted for a shell', async () => {
    await end(stage.store, "it's", 'block');
    const words = printed();
    await status({ place: placeOf(stage.store, "sqlite:/tmp/it's here.db"), what: run("it's"), out: words.out });
    expect(words.lines()[2]).toContain(`rerunsafe resolve --id ${idOf("it's")} --store 'sqlite:/tmp/it'\\''s here.db' --as done `);
    const hidden = printed();
    const secret = { ...placeOf(stage.store, 'postgres://ann:secret@db/x'), shown: 'postgres://ann@db/x' };
    await status({ place: secret, what: run("it's"), out: hidden.out });
    expect(hidden.lines()[2]).toContain(`--id ${idOf("it's")} --as done `);
    expect(hidden.text()).not.toContain('secret');
  });

  it('a place with leases only, an id that is none, a key that is none and the row of a lease are refused, by status and by show', async () => {
    await stage.place.leases.acquire('nightly', { owner: 'o', leaseMs: 1_000 });
    const only = { ...stage.place, store: undefined, shown: 'file:/locks' };
    for (const ask of [status, show]) {
      const { out } = printed();
      await expect(ask({ place: only, what: run('a'), out })).rejects.toThrow(/file:\/locks keeps leases only/);
      await expect(ask({ place: stage.place, what: { kind: 'id', id: 'r1_short' }, out })).rejects.toThrow(UsageError);
      await expect(ask({ place: stage.place, what: run(''), out })).rejects.toMatchObject({ exitCode: EXIT.usage });
      await expect(ask({ place: stage.place, what: run('nightly', 'rerunsafe/lease'), out })).rejects.toThrow(/row of the lease "nightly"/);
    }
  });

  it('names the operation where it is not that of scripts', async () => {
    await runs(stage.store, 'order 7', async () => 1, { operation: 'billing/charge' });
    const said = await both((out) => status({ place: stage.place, what: run('order 7', 'billing/charge'), out }));
    expect(said.text).toMatch(/^billing\/charge "order 7": done, /);
  });
});
