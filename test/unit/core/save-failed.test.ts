import { expect, it } from 'vitest';
import { bench, inTime } from './engine.ts';

it.each(['unavailable', 'lost-request', 'hang'] as const)(
  'I3 no save gets through (%s): the record stays as it stood, so that nothing starts before its lease is over',
  async (fault) => {
    const b = bench({ leaseMs: 1_000, renew: 'none' });
    b.plan.replace = () => fault;
    const saving = inTime(
      b.clock,
      b.run(() => 'done'),
    );
    expect(await saving).toMatchObject({ kind: 'completed', value: 'done', saved: false });
    const stands = [];
    for await (const { record } of b.store.list({})) stands.push(record.state);
    expect(stands).toEqual(['running']);
    delete b.plan.replace;
    await b.clock.advance(1_001);
    // As a takeover of what lapsed, not as a first attempt.
    expect(await b.run((run) => run.attempt)).toMatchObject({ value: 2 });
  },
);
