/**
 * What earlier engines make of today's rows: the same as today's code, but for what stands here. README.md says what that means.
 *
 * @module
 */
import { EXPECTED } from '../golden/expected.ts';
import type { OLD } from './engines.ts';

type Old = (typeof OLD)[number];

const BARE = 'Error: Invalid input';
const LOST = 'RESULT_NOT_STORED';

/** By the name of the golden row; `step …`: of `running-with-steps`. */
export const ODD: Readonly<Record<Old, Readonly<Record<string, string>>>> = {
  d922e28: {
    completed: BARE,
    'completed-scoped': BARE,
    'completed-without-label': BARE,
    'completed-with-label': BARE,
    'resolved-done': BARE,
    'completed-packed': LOST,
    'completed-sealed-packed': LOST,
    'failed-packed': LOST,
    'resolved-packed': LOST,
    'completed-parts': LOST,
    'completed-sealed-parts': LOST,
    'completed-packed-parts': LOST,
    'failed-parts': LOST,
    'resolved-parts': LOST,
    'step charge': BARE,
    'step large': LOST,
    'step ship': "TypeError: Cannot read properties of undefined (reading 'kind')",
  },
  '8a3546b': {},
};

const STEPS: Readonly<Record<string, string>> = {
  'step charge': 'has the value of the step',
  'step large': 'has the value of the step',
  'step lost': LOST,
  'step ship': 'blocked: unknown',
};

export function meant(old: Old, name: string): string {
  const odd = ODD[old][name] ?? STEPS[name];
  if (odd !== undefined) return odd;
  const { gets } = EXPECTED[name] as (typeof EXPECTED)[string];
  if ('replays' in gets) return 'replays';
  if ('fails' in gets) return 'fails as it did';
  if ('told' in gets) return gets.told;
  return 'blocked' in gets ? `blocked: ${gets.blocked}` : `runs as attempt ${gets.runsAs}`;
}
