/**
 * Rows as a later version may leave them, under the same schema: today's code is the old one of tomorrow. It may refuse them with a code, or pass them
 * through; it never runs work over an outcome that it does not understand.
 *
 * @module
 */
import { deflateRawSync } from 'node:zlib';
import { expect, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { forgetRun, resolveRun, runOnce, type StepOptions, sweep, type Work } from '../../src/index.ts';
import { EXPECTED } from './expected.ts';
import type { Place, RawRow } from './places.ts';
import { idOf, next, runOf } from './scenarios.ts';

type Body = Readonly<Record<string, unknown>>;
/** A golden row with another body, in a table of its own. */
export type Lay = (name: string, change: (body: Body) => Body) => Promise<Place>;

const PLAN = { plan: { to: ['ship', 1] } };
const LATER = { kind: 'cbor', cbor: 'oWFhAQ==' };
const never: Work<unknown> = () => expect.unreachable('the work must not run');

export function withBody(row: RawRow, change: (body: Body) => Body): RawRow {
  const changed = (text: unknown): string => JSON.stringify(change(JSON.parse(typeof text === 'string' ? text : '{}')));
  if ('fields' in row) return { ...row, fields: { ...(row.fields as Body), body: changed((row.fields as Body).body) } };
  const { body, body0 } = row;
  if (body0 instanceof Uint8Array) return { ...row, body0: Buffer.from(changed(Buffer.from(body0).toString('utf8'))) };
  if (typeof body === 'object' && body !== null) return { ...row, body: { S: changed((body as Body).S) } };
  return { ...row, body: changed(body) };
}

const stateOf = async (store: RecordStore, name: string) => (await store.read(idOf(name)))?.record.state;
const thrownBy = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => expect.unreachable(`it answered ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
const withPlan = (body: Body): Body => ({ ...body, ...PLAN });

export function laterFieldTests(lay: Lay): void {
  it('I3 a record with fields that this version does not know is replayed, refused or taken over as without them', async () => {
    for (const name of ['completed', 'blocked-failed', 'released', 'running-with-steps']) {
      const { store } = await lay(name, withPlan);
      const { gets } = EXPECTED[name] as (typeof EXPECTED)[string];
      const result = await next(store, name, (run) => ('runsAs' in gets ? run.attempt : expect.unreachable()));
      if ('replays' in gets) expect(result, name).toMatchObject({ value: gets.replays(), replayed: true });
      else if ('blocked' in gets) expect(result, name).toMatchObject({ kind: 'blocked', why: gets.blocked });
      else if ('runsAs' in gets) expect(result, name).toMatchObject({ value: gets.runsAs, replayed: false });
    }
  });

  it('I8 a record with a field that this version does not know is resolved, forgotten and blocked', async () => {
    const laid = async (name: string): Promise<RecordStore> => (await lay(name, withPlan)).store;
    expect(await resolveRun(runOf(await laid('blocked-unknown'), 'blocked-unknown'), { done: 1 })).toEqual({ kind: 'written' });
    expect(await forgetRun(runOf(await laid('completed'), 'completed'))).toEqual({ kind: 'written' });
    expect(await next(await laid('running-with-steps'), 'running-with-steps', never, { onUnknown: 'block' })).toMatchObject({ kind: 'blocked' });
  });

  it('I3 a record that this version blocks keeps the fields that it does not know', async () => {
    const place = await lay('running-with-steps', withPlan);
    await next(place.store, 'running-with-steps', never, { onUnknown: 'block' }).catch(() => {});
    const plans: unknown[] = [];
    for (const row of await place.dump()) {
      withBody(row, (body) => {
        plans.push(body.plan);
        return body;
      });
    }
    expect(await stateOf(place.store, 'running-with-steps')).toBe('blocked');
    expect(plans).toEqual([PLAN.plan]);
  });
}

/** A TypeError within a store would be one of the store's, and on some `onStoreDown: 'run'` acts on it. */
export function laterShapeTests(lay: Lay): void {
  const SHAPES: readonly Body[] = [{ outcome: null }, { steps: { later: 'planned' } }, { steps: { later: null } }];
  it.each(SHAPES)('I3 %j is RECORD_TOO_NEW, and no store that is away', async (body) => {
    const { store } = await lay('completed', () => body);
    expect(await thrownBy(next(store, 'completed', never, { onStoreDown: 'run' }))).toMatchObject({ code: 'RECORD_TOO_NEW' });
  });
}

/** What core makes of them, on whatever store. */
export function laterFormTests(lay: Lay): void {
  it('I8 blocked for a reason that this version does not know is blocked, shown by a sweep, and resolved', async () => {
    const name = 'blocked-failed';
    const { store } = await lay(name, (body) => ({ ...body, blockedWhy: 'later' }));
    for (const onUnknown of ['retry', 'block'] as const) {
      expect(await next(store, name, never, { onUnknown })).toMatchObject({ kind: 'blocked', why: 'later' });
    }
    expect(await thrownBy(runOnce({ store, operation: `golden/${name}`, key: 'order-1' }, never))).toMatchObject({ code: 'BLOCKED' });
    const shown: unknown[] = [];
    expect(await sweep({ store, olderThanMs: 0 }, ({ why }) => void shown.push(why))).toMatchObject({ blocked: 1, failures: [] });
    expect(shown).toEqual(['later']);
    expect(await resolveRun(runOf(store, name), { done: 1 })).toEqual({ kind: 'written' });
    expect(await next(store, name, never)).toMatchObject({ value: 1, replayed: true });
  });

  it('I3 an outcome that this version does not know (kind, reason, form of its value) is never run over, and stays as it is', async () => {
    for (const outcome of [LATER, { kind: 'not-stored', reason: 'later' }, { kind: 'value', value: { cbor: 1 } }]) {
      const place = await lay('completed', (body) => ({ ...body, outcome }));
      const { store } = place;
      const before = await place.dump();
      let ran = 0;
      for (const more of [{}, { onUnknown: 'block' }, { onStoreDown: 'run' }] as const) {
        await thrownBy(next(store, 'completed', () => ++ran, more));
      }
      expect(ran).toBe(0);
      expect(await resolveRun(runOf(store, 'completed'), 'not-done')).toEqual({ kind: 'not-needed' });
      expect(await sweep({ store, olderThanMs: 0 }, () => 'not-done')).toMatchObject({ settled: 0 });
      expect(await store.purge({ lapsedOlderThanMs: 1 })).toEqual({ removed: 0 });
      expect(await place.dump()).toEqual(before);
    }
  });

  it('I3 a step that this version does not know (kind, form, form of its value) does not run, and its run is not completed', async () => {
    for (const step of [{ outcome: LATER }, { planned: 1 }, { outcome: { kind: 'value', value: { cbor: 1 } } }]) {
      for (const mode of ['atLeastOnce', 'atMostOnce'] as const)
        expect(await stepOver(lay, step, { mode }), JSON.stringify(step)).not.toContain('ran');
    }
  });

  it('I3 a step of a form that this version does not know is not taken for one that had begun', async () => {
    expect(await stepOver(lay, { planned: 1 }, { mode: 'atMostOnce', onInterrupted: () => 'not-done' })).not.toContain('ran');
  });

  it.each([{ outcome: LATER }, { planned: 1 }])(
    'I10 a run whose step is kept as %j is left to the version that knows it, not blocked',
    async (step) => {
      expect(await stepOver(lay, step, {})).not.toContain('blocked');
    },
  );

  it.each([LATER, { kind: 'value', value: { cbor: 1 } }])(
    'I8 %j is RECORD_TOO_NEW, and neither said to be lost nor an error without a code',
    async (outcome) => {
      const { store } = await lay('completed', (body) => ({ ...body, outcome }));
      expect(await thrownBy(next(store, 'completed', never))).toMatchObject({ code: 'RECORD_TOO_NEW' });
    },
  );

  it.each<Body>([
    { kind: 'packed', packed: deflateRawSync(JSON.stringify(LATER)).toString('base64') },
    { kind: 'not-stored', reason: 'later' },
  ])('I8 %j is not said to be lost for a reason that is "undefined"', async (outcome) => {
    const { store } = await lay('completed', () => ({ outcome }));
    expect(((await thrownBy(next(store, 'completed', never))) as Error).message).not.toContain('undefined');
  });

  it('no message says "undefined" of what a later version has written', async () => {
    const { store } = await lay('blocked-failed', (body) => ({ ...body, blockedWhy: 'later' }));
    const error = await thrownBy(runOnce({ store, operation: 'golden/blocked-failed', key: 'order-1' }, never));
    expect((error as Error).message).not.toContain('undefined');
  });
}

/** What became of the step, and of its run. */
async function stepOver(lay: Lay, step: unknown, options: StepOptions<unknown>): Promise<string> {
  const name = 'running-with-steps';
  const { store } = await lay(name, (body) => ({ ...body, steps: { later: step } }));
  let became = 'left alone';
  const work: Work<unknown> = (run) =>
    run.step(
      'later',
      () => {
        became = 'ran';
      },
      options,
    );
  await next(store, name, work).catch(() => {});
  return `${became}, ${await stateOf(store, name)}`;
}
