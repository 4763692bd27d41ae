/**
 * A server that is no store to be relied upon: killed, and back without its data.
 *
 * @module
 */
import { NotReached } from '../stage.ts';
import type { Scenario, Trial } from './scenario.ts';

export const forgotten: Scenario = {
  id: 'forgotten',
  title: 'the Redis server is killed after the completion, and comes back empty',
  kind: 'calls',
  hands: ['a', 'b'],
  alone: true,
  checks: [{ id: 'again', promise: 'I3', broken: 'a later call ran the work again' }],
  async trial(stage): Promise<Trial> {
    const key = stage.key();
    const first = await stage.callUntil('a', key, 5_000);
    if (first.kind !== 'value') throw new NotReached('the first never ended');
    const [server] = stage.services.redis;
    await server?.kill();
    await server?.restart();
    await stage.callUntil('b', key, 5_000);
    const effects = stage.effects(key).length;
    return { broken: { again: effects > 1 }, seen: `${effects} effects` };
  },
};
