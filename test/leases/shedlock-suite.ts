/**
 * What the suite of ShedLock asks of every provider (8 cases, and 7 of those that can extend), and our case for it.
 *
 * @module
 */
import { EXPIRY, HOLDING, type PublicFailure, RACES, SLOTS, TURNS, WIRE } from './test-files.ts';

type Case = Pick<PublicFailure, 'tests' | 'not'> & { readonly asks: string };

export const BASE: readonly Case[] = [
  { asks: 'a lock is made', tests: [[HOLDING, 'a free name is acquired, with a token']] },
  { asks: 'a second one is refused while it is held', tests: [[HOLDING, 'I6 what is held is not given to another']] },
  { asks: 'two names are independent', tests: [[HOLDING, 'names are independent of each other']] },
  { asks: 'locked twice in a row', tests: [[HOLDING, 'released, it is free for the next, with a higher token']] },
  { asks: 'times out, and can be locked again', tests: [[EXPIRY, 'I10 a lease whose holder died is free when it has run out, and not before']] },
  {
    asks: 'locked right after the unlock, ten times, refused in between',
    tests: [[HOLDING, 'I5 tokens only grow, over acquire, refusal and release, twelve times']],
  },
  { asks: 'workers count under two names', tests: [[RACES, 'workers count under two names, and the tokens grow in the order of holding'], TURNS] },
  { asks: 'held for the least time after the unlock', tests: [[SLOTS, 'the minimum hold outlives the release, and ends']] },
];

export const EXTENDING: readonly Case[] = [
  { asks: 'extended', tests: [[EXPIRY, 'I6 renewing counts from the renewal: it is held beyond the first lease']] },
  { asks: 'extended three times', tests: [[HOLDING, 'renew by the holder keeps it held']] },
  { asks: 'not after the unlock', tests: [[HOLDING, 'a released lease cannot be renewed']] },
  { asks: 'not after it has run out', tests: [[EXPIRY, 'I4 renewing a lease that has run out is lost']] },
  { asks: 'the least time is kept', tests: [[SLOTS, 'the minimum hold is kept after renewals too']] },
  {
    asks: 'one handle does not extend twice',
    tests: [[WIRE, 'dynamolock #280 a renewal and a release that meet %s']],
    not: 'one lease has one handle here, and renews as often as it likes',
  },
  {
    asks: 'the handle from before the extension does not unlock',
    tests: [[HOLDING, 'I4 a stale owner neither renews nor releases, and the holder notices nothing']],
    not: 'one lease has one handle here: nobody holds an older one',
  },
];
