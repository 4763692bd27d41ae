import { describe, expect, it } from 'vitest';
import { replyCodeOf, toStoreError } from '../../../src/stores/redis/map-error.ts';
import { serverTime } from '../../../src/stores/redis/server-time.ts';
import { Resent, Unsent } from '../../../src/stores/redis/wire.ts';

describe('the time of a Redis server', () => {
  const stage = () => {
    const local = { ms: 1_000 };
    const wall = { ms: 5_000_000 };
    const time = serverTime(
      () => local.ms,
      () => wall.ms,
    );
    return { local, wall, time };
  };

  it('before the first answer it is the own clock', () => {
    const { time, local } = stage();
    expect(time.nowMs()).toBe(5_000_000);
    local.ms += 10;
    expect(time.latestMs(local.ms + 300)).toBe(5_000_300);
  });

  it('I5 is never ahead of the server, and a deadline never before it, however slow answers are', () => {
    const { time, local } = stage();
    // The server is at local + 7_000_000.3; answers tell whole milliseconds.
    const server = (): number => local.ms + 7_000_000.3;
    for (const [there, back] of [
      [40, 900],
      [1, 2],
      [700, 5],
      [0.2, 0.3],
    ] as const) {
      const sentAtMs = local.ms;
      local.ms += there;
      const told = Math.floor(server());
      local.ms += back;
      time.learn(told, sentAtMs, local.ms);
      expect(time.nowMs()).toBeLessThanOrEqual(server());
      expect(time.latestMs(local.ms)).toBeGreaterThanOrEqual(server());
      local.ms += 100;
    }
    expect(server() - time.nowMs()).toBeLessThan(3);
    expect(time.latestMs(local.ms) - server()).toBeLessThan(3);
  });

  it('a server whose clock was set, or another one in its place, is believed at once', () => {
    const { time, local } = stage();
    time.learn(9_000_000, local.ms, local.ms + 1);
    time.learn(2_000_000, local.ms, local.ms + 1);
    expect(time.nowMs()).toBe(1_999_999);
    time.learn(9_000_000, local.ms, local.ms + 1);
    expect(time.latestMs(local.ms)).toBe(9_000_001);
  });
});

describe('what errors of Redis mean', () => {
  const writing = { writes: true, withWork: false };
  const codeOf = (error: unknown, circumstances = writing): string => toStoreError(error, circumstances).code;

  it.each([
    ['LOADING Redis is loading the dataset in memory', 'STORE_UNAVAILABLE'],
    ['CLUSTERDOWN The cluster is down', 'STORE_UNAVAILABLE'],
    ['MASTERDOWN Link with MASTER is down', 'STORE_UNAVAILABLE'],
    ['TRYAGAIN Multiple keys request during rehashing of slot', 'STORE_UNAVAILABLE'],
    ['ERR max number of clients reached', 'STORE_UNAVAILABLE'],
    ["ERR Error running script (call to f_12): @user_script:9: -OOM command not allowed when used memory > 'maxmemory'.", 'STORE_UNAVAILABLE'],
    ['WRONGPASS invalid username-password pair', 'STORE_MISCONFIGURED'],
    ['MOVED 3999 127.0.0.1:6381', 'STORE_MISCONFIGURED'],
    ['CROSSSLOT Keys in request do not hash to the same slot', 'STORE_MISCONFIGURED'],
    ["ERR unknown command 'EVALSHA'", 'STORE_MISCONFIGURED'],
  ])('I8 the answer "%s" to a write is %s: nothing was written', (message, code) => {
    expect(codeOf(new Error(message))).toBe(code);
    expect(codeOf(new Resent(new Error(message)))).toBe('WRITE_UNKNOWN');
    expect(codeOf(new Resent(new Error(message)), { writes: false, withWork: false })).toBe(code);
  });

  it('I8 no answer is WRITE_UNKNOWN for a write, and STORE_UNAVAILABLE for a read and for what was never sent', () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    for (const error of [reset, new Error('Socket closed unexpectedly'), new Error('Connection is closed.'), 'a string', undefined]) {
      expect(replyCodeOf(error)).toBeUndefined();
      expect(codeOf(error)).toBe('WRITE_UNKNOWN');
      expect(codeOf(error, { writes: false, withWork: false })).toBe('STORE_UNAVAILABLE');
      expect(codeOf(new Unsent(error))).toBe('STORE_UNAVAILABLE');
    }
  });

  it("what a script of the caller's failed with is thrown as it is; what is about the store is not", () => {
    const theirs = new Error('OUT_OF_STOCK none left');
    expect(() => toStoreError(theirs, { writes: true, withWork: true })).toThrow(theirs);
    expect(codeOf(new Error('OOM command not allowed'), { writes: true, withWork: true })).toBe('STORE_UNAVAILABLE');
  });
});
