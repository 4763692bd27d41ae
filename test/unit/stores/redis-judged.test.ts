import { describe, expect, it } from 'vitest';
import { type RerunSafeError, storeMisconfigured } from '../../../src/core/errors.ts';
import { isNoScript, needsPerson, replyCodeOf, toStoreError } from '../../../src/stores/redis/map-error.ts';
import { Resent, Unsent } from '../../../src/stores/redis/wire.ts';

const said = (message: string, more: object = {}) => Object.assign(new Error(message), more);
const judged = (error: unknown, writes = true, withWork = false): RerunSafeError => toStoreError(error, { writes, withWork });
const MISCONFIGURED = 'The store cannot be used as it is set up: Redis: ';

describe('the word that an answer of Redis begins with', () => {
  it.each<[unknown, string | undefined]>([
    [said('LOADING Redis is loading'), 'LOADING'],
    [said('NOAUTH'), 'NOAUTH'],
    [said('ERR unknown command'), 'ERR'],
    [said('ERR2X_Y something'), 'ERR2X_Y'],
    [said("ERR The user executing the script can't run this command"), 'NOPERM'],
    [said("see: ERR The user executing the script can't run"), undefined],
    [said('ERR Error running script (call to f_12): @user_script:9: -OOM command not allowed'), 'OOM'],
    [said('ERR Error running script (call to f_12): @user_script:9: WRONGTYPE Operation against a key'), 'WRONGTYPE'],
    [said('ERR Error running script (call to f_12): @user_script:9: attempt to index'), 'ERR'],
    [said('x ERR Error running script (call to f_12): @user_script:9: -OOM command'), undefined],
    [said('Connection is closed.'), undefined],
    [said('OK'), undefined],
    [said('lower case'), undefined],
    [said('LOADING:Redis'), undefined],
    [said('see LOADING Redis'), undefined],
    [said('ECONNRESET read', { code: 'ECONNRESET' }), undefined],
    [said('READONLY replica', { code: 'READONLY' }), 'READONLY'],
    [said('LOADING of an XECONN', { code: 'xECONNRESET' }), 'LOADING'],
    [said('LOADING of an EX1', { code: 'EX1' }), 'LOADING'],
    [said('LOADING with a code that is none', { code: 5 }), 'LOADING'],
    [said('ERR of a socket', { syscall: 'read' }), undefined],
    [undefined, undefined],
    [null, undefined],
  ])('%s: %s', (error, code) => {
    expect(replyCodeOf(error)).toBe(code);
  });

  it('credentials want a person, and a script that is not known is sent again', () => {
    for (const code of ['NOAUTH', 'WRONGPASS', 'NOPERM']) expect(needsPerson(said(`${code} x`))).toBe(true);
    for (const code of ['LOADING', 'XNOAUTH', 'NOAUTHX', 'XNOPERM', 'WRONGPASSX']) expect(needsPerson(said(`${code} x`))).toBe(false);
    expect(needsPerson(undefined)).toBe(false);
    expect(
      [said('NOSCRIPT No matching script'), new Resent(said('NOSCRIPT x')), said('LOADING x'), new Resent(said('OOM x'))].map(isNoScript),
    ).toEqual([true, true, false, false]);
  });
});

describe('what a failure of Redis means', () => {
  it.each(['LOADING', 'BUSY', 'CLUSTERDOWN', 'MASTERDOWN', 'TRYAGAIN', 'MISCONF', 'NOREPLICAS', 'FAILOVER', 'UNBLOCKED', 'INPROG'])(
    'I8 %s passes, and nothing has happened',
    (code) => {
      const error = said(`${code} x`);
      expect(judged(error)).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('(Redis: '), cause: error });
      expect(judged(error).message).toContain(`(Redis: ${code} x)`);
    },
  );

  it.each([
    ['READONLY', 'Redis: This server is a replica, which takes no writes. Connect to the primary'],
    ['OOM', 'Redis: the server is full: more memory, or a shorter retention'],
  ])('I8 %s passes when the server was helped, and it is said how', (code, message) => {
    expect(judged(said(`${code} x`))).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining(message) });
  });

  it.each([
    ['NOAUTH', ' Give the client a user name and password.'],
    ['WRONGPASS', ' Look at user name and password.'],
    ['NOPERM', ' The user needs the commands EVAL, EVALSHA, TIME, SET, EXISTS, HGET'],
    ['WRONGTYPE', ' Under a key with the prefix of the store lies something of somebody else. Give the store a prefix of its own.'],
    ['MOVED', ' The server is part of a cluster. Connect with the cluster client of your package'],
    ['CROSSSLOT', ' All keys must have the hash tag of the prefix of the store'],
    ['ERR', ''],
  ])('I8 %s wants a person, and it is said what for', (code, hint) => {
    const error = said(`${code} x`);
    expect(judged(error)).toMatchObject({ code: 'STORE_MISCONFIGURED', cause: error });
    if (hint === '') expect(judged(error).message).toBe(`${MISCONFIGURED}${code} x`);
    else expect(judged(error).message.startsWith(`${MISCONFIGURED}${code} x${hint}`)).toBe(true);
  });

  it('too many clients is told by its words', () => {
    expect(judged(said('ERR max number of clients reached'))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('(Redis: ERR max number of clients reached)'),
    });
  });

  it('I8 what was never sent has not happened, and says why; what is one of ours already stays as it is', () => {
    const own = storeMisconfigured('x');
    const reset = said('reset', { code: 'ECONNRESET' });
    expect(judged(own)).toBe(own);
    expect(judged(new Unsent(own))).toBe(own);
    expect(judged(new Unsent(reset))).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('(Redis: reset)'), cause: reset });
  });

  it('I8 no answer, and the answer to a second copy, are doubt for what writes, and only for that', () => {
    const reset = said('reset', { code: 'ECONNRESET' });
    const refused = said('WRONGPASS x');
    for (const error of [reset, new Resent(reset)]) {
      expect(judged(error)).toMatchObject({ code: 'WRITE_UNKNOWN', message: expect.stringContaining('(Redis)'), cause: reset });
      expect(judged(error, false)).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('(Redis: reset)'), cause: reset });
    }
    expect(judged(new Resent(refused))).toMatchObject({ code: 'WRITE_UNKNOWN', cause: refused });
    expect(judged(new Resent(refused), false)).toMatchObject({ code: 'STORE_MISCONFIGURED', cause: refused });
  });

  it.each(['LOADING', 'OOM', 'NOAUTH', 'WRONGPASS', 'NOPERM', 'MOVED', 'CROSSSLOT', 'ASK', 'NOSCRIPT', 'READONLY'])(
    "%s is of the store, whoever's script it was",
    (code) => {
      expect(judged(said(`${code} x`), true, true).code).toMatch(/^STORE_/);
    },
  );

  it.each(['ERR', 'WRONGTYPE', 'OUT_OF_STOCK'])("%s from the caller's own script is thrown as it is", (code) => {
    const error = said(`${code} x`);
    expect(() => judged(error, true, true)).toThrow(error);
    expect(() => judged(new Resent(error), false, true)).toThrow(error);
    expect(judged(error).code).toBe('STORE_MISCONFIGURED');
  });
});
