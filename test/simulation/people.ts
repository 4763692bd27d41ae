import { isRerunSafeError } from '../../src/core/errors.ts';
import { forgetById, type PersonResult, resolveById } from '../../src/core/person.ts';
import { type SweepAnswer, sweep } from '../../src/core/sweep.ts';
import { OPERATION, type Plan } from './caller.ts';
import type { Dice } from './dice.ts';
import { FORCED } from './judge.ts';
import { Process, RIGHT } from './process.ts';
import type { Scene } from './scene.ts';

/** A person who resolves or forgets, and a sweeper; their requests meet faults like anybody's. */
export function letPeopleCome(scene: Scene, { person, sweeps }: Plan): void {
  if (person === 'nobody' && !sweeps) return;
  const client = scene.client(new Process(scene.world, 'person', RIGHT));
  if (person !== 'nobody') {
    for (const n of [1, 2]) {
      scene.perhaps(`word ${n}`, 0.8, (dice) => {
        void say(`word ${n}`, dice);
      });
    }
  }
  if (sweeps) {
    for (const n of [1, 2]) {
      scene.perhaps(`sweep ${n}`, 0.8, (dice) => {
        void sweepOnce(`sweep ${n}`, dice);
      });
    }
  }

  async function say(why: string, dice: Dice): Promise<void> {
    const force = person === 'insists' && dice.chance(0.7);
    const options = { why, force, by: force ? FORCED : 'a person' };
    const forgets = (person === 'forgets' || person === 'insists') && dice.chance(0.6);
    const as = dice.chance(0.5) ? 'not-done' : { done: why };
    await told(why, () => (forgets ? forgetById(client, scene.shelf.id, options) : resolveById(client, scene.shelf.id, options, as)));
  }

  /** Whoever is told that nothing was written must be right. */
  async function told(why: string, word: () => Promise<PersonResult>): Promise<void> {
    let answer: string;
    try {
      answer = (await word()).kind;
    } catch (error) {
      if (isRerunSafeError(error, 'WRITE_UNKNOWN')) return scene.tally.saw('a word in doubt');
      const known = isRerunSafeError(error, 'STORE_UNAVAILABLE') || isRerunSafeError(error, 'INVALID_OPTIONS');
      if (!known) scene.fail(`${why} threw ${String(error)}`);
      answer = 'refused';
    }
    scene.tally.saw(`a person was told ${answer}`);
    const stood = scene.shelf.history.some(({ record }) => record?.word?.why === why);
    if (stood !== (answer === 'written') && !scene.losesWrites) scene.fail(`I8 ${why} was told ${answer}, and ${stood ? 'was' : 'was not'} written`);
  }

  async function sweepOnce(why: string, dice: Dice): Promise<void> {
    const shown = new Set<number>();
    const answers: readonly SweepAnswer[] = [{ done: why }, 'not-done', 'block', undefined];
    try {
      const { settled, failures } = await sweep({ store: client, operation: OPERATION, olderThanMs: 0, by: 'the sweeper', why }, async (found) => {
        scene.tally.saw(`swept ${found.kind}`);
        shown.add(found.attempt);
        if (dice.chance(0.5)) await scene.world.sleep(dice.between(0, scene.leaseMs));
        return dice.pick(answers);
      });
      scene.tally.saw('settled by a sweep', settled);
      for (const { error } of failures) if (!isRerunSafeError(error)) scene.fail(`${why} failed with ${String(error)}`);
    } catch (error) {
      if (!isRerunSafeError(error, 'STORE_UNAVAILABLE')) scene.fail(`${why} threw ${String(error)}`);
    }
    // An answer is about what was shown, never about an attempt that came since.
    const { history } = scene.shelf;
    for (const [index, { record, how }] of history.entries()) {
      const over = history[index - 1]?.record;
      if (how === undefined && record?.word?.why === why && record.word !== over?.word && !shown.has(over?.attempt ?? -1))
        scene.fail(`I8 ${why} was written over attempt ${over?.attempt}, and was about ${[...shown]}`);
    }
  }
}
