import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { atOnce, sleep } from '../suite.ts';
import { acquired, ask, freshName, freshOwner, type LeaseCase, type LeaseCaseSubject } from './subject.ts';

export interface LeaseRaceSizes {
  /** Callers in one race. Default 32. */
  readonly racers?: number;
  /** Races in a row. Default 10. */
  readonly rounds?: number;
  /** Workers that share two names. Default 8. */
  readonly workers?: number;
  /** How often each worker holds each name. Default 5. */
  readonly turns?: number;
}

/** Where time can be moved nobody needs to wait for it. */
const pause = async ({ advance }: LeaseCaseSubject): Promise<void> => {
  if (advance === undefined) await sleep(5 + Math.random() * 20);
  else await turn();
};

/** Many callers at once. */
export function races({ racers = 32, rounds = 10, workers = 8, turns = 5 }: LeaseRaceSizes): readonly LeaseCase[] {
  return [
    {
      title: `I6 of ${racers} callers at once one acquires, and all others are told it is held (${rounds} rounds)`,
      async run(subject) {
        const name = freshName();
        let last = 0;
        for (let round = 0; round < rounds; round += 1) {
          const answers = await atOnce(racers, async () => {
            const owner = freshOwner();
            return { owner, answer: await ask(subject, name, { owner }) };
          });
          const winners = answers.filter(({ answer }) => answer.kind === 'acquired');
          assert.equal(winners.length, 1, `${winners.length} of ${racers} acquired it`);
          assert.equal(answers.filter(({ answer }) => answer.kind === 'held').length, racers - 1);
          const [winner] = winners as [(typeof winners)[number]];
          const token = acquired(winner.answer);
          assert.ok(token > last, `token ${token} after ${last}`);
          last = token;
          assert.equal(await subject.leases.release(name, { owner: winner.owner, token }), 'released');
        }
      },
    },
    {
      title: `I6 no update is lost: ${workers} workers count under two names, and the tokens grow in the order of holding`,
      async run(subject) {
        const counters = [freshName(), freshName()].map((name) => ({ name, count: 0, inside: 0, tokens: [] as number[] }));
        await atOnce(workers, async (index) => {
          for (let n = 0; n < turns * counters.length; n += 1) await countUp(counters[(index + n) % counters.length] as (typeof counters)[number]);
        });
        for (const { count, tokens } of counters) {
          assert.equal(count, workers * turns);
          assert.deepEqual(
            tokens,
            [...new Set(tokens)].sort((a, b) => a - b),
          );
        }

        async function countUp(counter: (typeof counters)[number]): Promise<void> {
          for (let tries = 0; tries < 5000; tries += 1) {
            const owner = freshOwner();
            const answer = await ask(subject, counter.name, { owner });
            if (answer.kind !== 'acquired') {
              assert.equal(answer.kind, 'held');
              await pause(subject);
              continue;
            }
            counter.inside += 1;
            assert.equal(counter.inside, 1, 'two hold the same name');
            const { count } = counter;
            await pause(subject);
            counter.count = count + 1;
            counter.tokens.push(answer.token);
            counter.inside -= 1;
            assert.equal(await subject.leases.release(counter.name, { owner, token: answer.token }), 'released');
            return;
          }
          assert.fail('never acquired: a name that is released has to come free');
        }
      },
    },
  ];
}
