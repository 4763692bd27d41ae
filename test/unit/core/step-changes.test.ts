import { describe, expect, it } from 'vitest';
import type { Run, StepOptions } from '../../../src/index.ts';
import { bench } from './engine.ts';

type Plan = readonly (readonly [name: string, options?: StepOptions<string>])[];

/** The first attempt dies after its steps; the second has other code. */
async function deployed(before: Plan, after: Plan) {
  const b = bench();
  const ran: string[] = [];
  const work = (plan: Plan) => async (run: Run<string[]>) => {
    const values: string[] = [];
    for (const [name, options] of plan) {
      const body = () => {
        ran.push(`${name} in ${run.attempt}`);
        return `${name} of ${run.attempt}`;
      };
      values.push(await run.step(name, body, options));
    }
    if (run.attempt === 1) throw new Error('crash');
    return values;
  };
  await expect(b.run(work(before))).rejects.toThrow('crash');
  ran.length = 0;
  const second = await b.run(work(after)).catch((error: unknown) => error);
  return { ran, second };
}

describe('the code changed between two attempts', () => {
  it('a step was added: it runs, the others do not', async () => {
    const { ran, second } = await deployed([['a'], ['b']], [['a'], ['new'], ['b']]);
    expect(second).toMatchObject({ value: ['a of 1', 'new of 2', 'b of 1'] });
    expect(ran).toEqual(['new in 2']);
  });

  it('a step was removed: the others get what they have kept', async () => {
    const { ran, second } = await deployed([['a'], ['old'], ['b']], [['a'], ['b']]);
    expect(second).toMatchObject({ value: ['a of 1', 'b of 1'] });
    expect(ran).toEqual([]);
  });

  it('steps come in another order: each gets its own', async () => {
    const { ran, second } = await deployed([['a'], ['b'], ['c']], [['c'], ['a'], ['b']]);
    expect(second).toMatchObject({ value: ['c of 1', 'a of 1', 'b of 1'] });
    expect(ran).toEqual([]);
  });

  it('a step was renamed: it is another one, and runs', async () => {
    const { ran, second } = await deployed([['a'], ['b']], [['a'], ['b2']]);
    expect(second).toMatchObject({ value: ['a of 1', 'b2 of 2'] });
    expect(ran).toEqual(['b2 in 2']);
  });

  it('its declared input changed: STEP_CHANGED, and nothing of it is run', async () => {
    const { ran, second } = await deployed([['a', { input: 1 }]], [['a', { input: 2 }]]);
    expect(second).toMatchObject({ code: 'STEP_CHANGED', facts: { step: 'a' } });
    expect(ran).toEqual([]);
  });

  it('an input was declared only later: nothing to compare with, so it gets what it has kept', async () => {
    const { second } = await deployed([['a']], [['a', { input: 2 }]]);
    expect(second).toMatchObject({ value: ['a of 1'] });
  });

  it('a finished step became at-most-once: it is finished', async () => {
    const { ran, second } = await deployed([['a']], [['a', { mode: 'atMostOnce' }]]);
    expect(second).toMatchObject({ value: ['a of 1'] });
    expect(ran).toEqual([]);
  });
});
