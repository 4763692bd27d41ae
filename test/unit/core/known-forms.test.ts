import { describe, expect, it } from 'vitest';
import { mustBeKnown } from '../../../src/core/known-forms.ts';
import type { Outcome, StoredStep } from '../../../src/core/record.ts';

const KNOWN: readonly Outcome[] = [
  { kind: 'value', value: { json: 1 } },
  { kind: 'error', error: { name: 'E', message: 'm' } },
  { kind: 'sealed', sealed: 's' },
  { kind: 'packed', packed: 'p' },
  { kind: 'parts', of: 'value', owner: 'o', hash: 'h', bytes: 1, count: 1 },
  { kind: 'not-stored', reason: 'too-large' },
];

const refusal = (record: object): unknown => {
  try {
    return mustBeKnown(record as never);
  } catch (error) {
    return error;
  }
};
const tooNew = (what: string, facts: object = {}) => ({
  code: 'RECORD_TOO_NEW',
  message: `The record holds ${what}. Update rerunsafe; nothing was changed.`,
  facts,
});

describe('what a later version wrote', () => {
  it('is told from all that this one writes', () => {
    expect(refusal({})).toBeUndefined();
    for (const outcome of KNOWN) {
      expect(refusal({ outcome })).toBeUndefined();
      expect(refusal({ steps: { one: { outcome } as StoredStep, two: { begun: 1 } } })).toBeUndefined();
    }
  });

  it.each([
    [{ kind: 'streamed' }, 'streamed'],
    [{}, 'object'],
    [null, 'object'],
    ['value', 'string'],
    [7, 'number'],
  ])('I3 an outcome of another kind is refused, and said: %j', (outcome, kind) => {
    expect(refusal({ outcome })).toMatchObject(tooNew(`an outcome of a kind that this version does not know (${kind})`, { kind }));
    expect(refusal({ steps: { ship: { outcome } } })).toMatchObject(
      tooNew(`of the step "ship" an outcome of a kind that this version does not know (${kind})`, { kind }),
    );
  });

  it.each([[null], ['done'], [7]])('I3 steps of another form are refused, and said: %j', (steps) => {
    expect(refusal({ steps })).toMatchObject(tooNew('steps in a form that this version does not know'));
  });

  it.each([[null], ['begun'], [7], [{}], [{ begun: '1' }], [{ started: 1 }]])(
    'I3 a step of another form is refused, and never begun again: %j',
    (step) => {
      const steps = { known: { begun: 1 }, ship: step };
      expect(refusal({ steps })).toMatchObject(tooNew('a form of the step "ship" that this version does not know', { step: 'ship' }));
    },
  );
});
