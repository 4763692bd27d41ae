import { describe, expect, it } from 'vitest';
import { byLength } from '../../support/long.ts';
import { until } from '../child/processes.ts';
import { burst } from './burst.ts';
import { azureTables, dynamodbs, postgreses, redises, sqlite } from './places.ts';
import { cliStage } from './stage.ts';
import { seenIn } from './witness.ts';
import type { Ended } from './wrappers.ts';

/** Half of them wait for the one that runs, half do not. */
const MANY = byLength(16, 50, 200);
const CROWD = 50;

const codes = (ended: readonly Ended[]): number[] => ended.map(({ code }) => code ?? -1).sort((a, b) => a - b);
const times = (n: number, code: number): number[] => Array.from({ length: n }, () => code);

describe.each([sqlite, ...(await postgreses()), ...(await redises()), azureTables, ...(await dynamodbs())])(
  'the same at once, on $name',
  ({ name, start }) => {
    const stage = cliStage({ start });

    it(`I1 I3 of ${MANY} processes that ask at the same moment one runs; the others exit 75, or wait for it and exit 0`, {
      timeout: 120_000,
    }, async () => {
      const { place, wrappers } = stage;
      for (let n = 0; n < MANY / CROWD; n++) {
        const many = Math.min(CROWD, MANY);
        const [key, witness, holds] = [`at-once-${n}`, wrappers.path(`witness-${n}`), wrappers.path(`holds-${n}`)];
        const isWaiting = (one: number): boolean => one % 2 === 0;
        const options = (one: number): string[] => ['--store', place.url, '--key', key, ...(isWaiting(one) ? ['--wait', '60s'] : [])];
        const all = await burst(wrappers, many, options, { witness, holds });
        const [runner] = await until(() => seenIn(witness).length > 0 && seenIn(witness), 'one of them runs', 30_000);
        const ended = all.wrappers.map((wrapper) => wrapper.ended);
        // Nobody can tell which of them: whoever does not wait and does not run ends while the command goes on.
        const refused: Ended[] = [];
        for (const one of ended) void one.then((end) => refused.push(end));
        await until(() => refused.length >= many / 2 - 1, 'those that do not wait have ended', 30_000);
        wrappers.touch(holds);
        const ends = await Promise.all(ended);
        const ran = ends.filter(({ report }) => report?.became === 'succeeded');
        expect(ran).toHaveLength(1);
        const isRunnerWaiting = isWaiting(ends.findIndex(({ report }) => report?.became === 'succeeded'));
        const busy = many / 2 - (isRunnerWaiting ? 0 : 1);
        expect(codes(ends)).toEqual([...times(many - busy, 0), ...times(busy, 75)]);
        expect(ends.filter(({ report }) => report?.became === 'already-done')).toHaveLength(many - busy - 1);
        expect(seenIn(witness)).toEqual([runner, { ...runner, what: 'out' }]);
        const { apartMs, beforeFirstAnswer } = all.spread();
        console.log(`${name}: ${many} asked within ${apartMs.toFixed(0)} ms, ${beforeFirstAnswer} of them before anybody had an answer`);
      }
    });
  },
);
