/**
 * Named locks: a holder that was paused, and a server that forgot.
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { LockAnswer } from '../protocol.ts';
import { LEASE_MS, NotReached, type Stage } from '../stage.ts';
import type { Scenario, Trial } from './scenario.ts';

const TAKEN_OVER_WITHIN_MS = 10_000;
const LONG_MS = 30_000;

async function acquire(stage: Stage, letter: string, name: string, leaseMs: number): Promise<LockAnswer> {
  const got = await stage.lock(letter, name, { do: 'acquire', leaseMs });
  if (!got.done) throw new NotReached(`${letter} did not get a free lock`);
  return got;
}

async function takeOver(stage: Stage, name: string): Promise<LockAnswer> {
  const got = await stage.acquireUntil('b', name, TAKEN_OVER_WITHIN_MS, LONG_MS);
  if (got === undefined) throw new NotReached('nobody took over');
  return got;
}

/** Stopped meanwhile; runs again whatever happens. */
async function whileStopped<V>(stage: Stage, letter: string, body: () => Promise<V>): Promise<V> {
  const sleeper = await stage.hand(letter);
  sleeper.pause();
  try {
    return await body();
  } finally {
    sleeper.resume();
  }
}

export const paused: Scenario = {
  id: 'paused',
  title: 'a holder is paused past its lease, another takes the lock and writes, the first wakes and goes on',
  kind: 'locks',
  hands: ['a', 'b'],
  checks: [
    { id: 'believes', promise: 'I4', broken: 'its own library still says "held" in the next line of its code' },
    { id: 'stale-write', promise: 'I4', broken: 'a write that it had already decided upon went through' },
    { id: 'token', promise: 'I5', broken: 'no token that grows, by which the resource could tell the two apart' },
  ],
  async trial(stage): Promise<Trial> {
    const name = stage.key();
    const first = await acquire(stage, 'a', name, LEASE_MS);
    const looked = (await stage.hand('a')).stall(name, 300);
    looked.catch(() => {});
    await pause(100);
    const second = await whileStopped(stage, 'a', async () => {
      const got = await takeOver(stage, name);
      await stage.lock('b', name, { do: 'write' });
      return got;
    });
    const { done: believes } = await looked;
    const { done: accepted } = await stage.lock('a', name, { do: 'write' });
    const grew = first.token !== undefined && second.token !== undefined && second.token > first.token;
    return {
      broken: { believes, 'stale-write': accepted, token: !grew },
      seen: `it was told "${believes ? 'held' : 'lost'}", its write was ${accepted ? 'accepted' : 'refused'}`,
    };
  },
};

export const release: Scenario = {
  id: 'release',
  title: 'a stale holder releases',
  kind: 'locks',
  hands: ['a', 'b', 'c'],
  checks: [{ id: 'freed', promise: 'I4', broken: 'its successor lost the lock' }],
  async trial(stage): Promise<Trial> {
    const name = stage.key();
    await acquire(stage, 'a', name, LEASE_MS);
    await whileStopped(stage, 'a', () => takeOver(stage, name));
    await stage.lock('a', name, { do: 'release' });
    const third = await stage.lock('c', name, { do: 'acquire', leaseMs: LONG_MS });
    return {
      broken: { freed: third.done },
      seen: `a third caller ${third.done ? 'got the lock' : 'was refused'}`,
    };
  },
};

export const extend: Scenario = {
  id: 'extend',
  title: 'a holder extends after its lease ran out',
  kind: 'locks',
  hands: ['a', 'b', 'c'],
  checks: [
    { id: 'revived', promise: 'I4', broken: 'told that it is extended, though another has it' },
    { id: 'freed', promise: 'I4', broken: 'its successor lost the lock' },
    { id: 'late', promise: 'I6', broken: 'told that it is extended after it ran out, where nobody had taken it' },
  ],
  async trial(stage): Promise<Trial> {
    const [taken, left] = [stage.key(), stage.key()];
    await acquire(stage, 'a', taken, LEASE_MS);
    await acquire(stage, 'a', left, LEASE_MS);
    const since = Date.now();
    await whileStopped(stage, 'a', async () => {
      await takeOver(stage, taken);
      await pause(Math.max(0, LEASE_MS + 300 - (Date.now() - since)));
    });
    const [revived, late] = await Promise.all([stage.lock('a', taken, { do: 'extend' }), stage.lock('a', left, { do: 'extend' })]);
    const third = await stage.lock('c', taken, { do: 'acquire', leaseMs: LONG_MS });
    return {
      broken: { revived: revived.done, freed: third.done, late: late.done },
      seen: `of a taken one: ${revived.done ? 'extended' : 'lost'}; of one that nobody took: ${late.done ? 'extended' : 'lost'}`,
    };
  },
};

export const restarted: Scenario = {
  id: 'restarted',
  title: 'a Redis server (the only one, or one of three) is killed and comes back empty while a holder is at work',
  kind: 'locks',
  hands: ['a', 'b'],
  alone: true,
  checks: [
    { id: 'two', promise: '–', broken: 'two hold it at once, and both libraries say so' },
    { id: 'stale-write', promise: 'I4', broken: 'a write of the first went through after the second had written' },
  ],
  async trial(stage): Promise<Trial> {
    const name = stage.key();
    await acquire(stage, 'a', name, LONG_MS);
    const [server] = stage.services.redis;
    await server?.kill();
    await server?.restart();
    const second = await stage.acquireUntil('b', name, 2_500, LONG_MS);
    if (second === undefined) return { broken: { two: false, 'stale-write': false }, seen: 'the second was refused: the others remember' };
    const both = (await stage.lock('a', name, { do: 'held' })).done && (await stage.lock('b', name, { do: 'held' })).done;
    await stage.lock('b', name, { do: 'write' });
    const { done: accepted } = await stage.lock('a', name, { do: 'write' });
    return {
      broken: { two: both, 'stale-write': accepted },
      seen: `the second got it${both ? ', and both were told "held"' : ''}; the first one's write was ${accepted ? 'accepted' : 'refused'}`,
    };
  },
};
