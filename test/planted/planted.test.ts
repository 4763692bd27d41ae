import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { byLength } from '../support/long.ts';
import { LEAST_BUGS, MOST_SEEDS } from './bug.ts';
import { BUGS } from './bugs.ts';
import { control, isUsual, line, type Planted, plant } from './run.ts';
import { Tree, withBug } from './tree.ts';

/** `npm test`: of each detector one. In CI: all that the simulator notices besides. */
const isFirst = ({ caughtBy: { detector } }: (typeof BUGS)[number], at: number): boolean =>
  BUGS.findIndex(({ caughtBy }) => caughtBy.detector === detector) === at;
const planted = BUGS.filter((bug, at) => byLength(isFirst(bug, at), isFirst(bug, at) || (isUsual(bug) && bug.caughtBy.detector !== 'tests'), true));
const LIMIT_MS = 180_000;

describe('the list of planted bugs', () => {
  it(`has ${LEAST_BUGS} or more, each by a name of its own and within ${MOST_SEEDS} seeds`, () => {
    expect(planted.length).toBeGreaterThan(0);
    expect(BUGS.length).toBeGreaterThanOrEqual(LEAST_BUGS);
    expect(new Set(BUGS.map(({ name }) => name)).size).toBe(BUGS.length);
    expect(BUGS.filter(({ caughtBy }) => caughtBy.budget > MOST_SEEDS)).toEqual([]);
  });

  it.each(BUGS)('fits the code as it is: $name', async (bug) => {
    expect((await withBug(bug)).size).toBeGreaterThan(0);
  });

  it('says that a patch must be renewed where its text is gone', async () => {
    const gone = { ...(BUGS[0] as (typeof BUGS)[number]), find: 'nothing says this' };
    await expect(withBug(gone)).rejects.toThrow('must be renewed');
  });
});

// One after the other: others on this machine go by the clock.
describe('is noticed where it is planted:', { timeout: LIMIT_MS }, () => {
  let tree: Tree;
  const results: Planted[] = [];
  beforeAll(async () => {
    tree = await Tree.copy();
  });
  afterAll(() => tree?.[Symbol.asyncDispose]());

  it.each(planted)('$name', async (bug) => {
    const result = await plant(tree, bug);
    results.push(result);
    expect(result.caught, line(result)).toBe(true);
  });

  it('nothing, where nothing is planted, over the same seeds and tests', async () => {
    expect(await control(tree, results)).toEqual([]);
  });
});
