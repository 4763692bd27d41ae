import { rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { instant, realSystem } from '../../../src/core/system.ts';
import { release, renew } from '../../../src/leases/file/hold.ts';
import { Holds } from '../../../src/leases/file/holds.ts';
import type { LockedFile } from '../../../src/leases/file/locked-file.ts';
import { openPlace, type Place } from '../../../src/leases/file/place.ts';
import type { LeaseRecord } from '../../../src/leases/file/record.ts';
import { encode, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject, LONG_MS } from './file-subject.ts';

const on = fileSubject();
const AT = { wallMs: 1_000, upMs: 10, boot: 'a' };
const HELD: LeaseRecord = { name: 'n', token: 7, state: 'held', owner: 'me', leaseMs: LONG_MS, at: AT, lastSlot: 3 };
const NO_MARKS = { slotDone: undefined, holdMs: 0 };

/** A file in hand that does what the test says; and what was asked of it. */
function inHand(answers: Partial<Record<keyof LockedFile, (n: number) => unknown>> = {}, leaseMs = LONG_MS) {
  const asked: unknown[][] = [];
  const usual = { isAt: () => true, read: () => ({ kind: 'kept', entry: { seq: 1, slot: 0, body: HELD } }) };
  const call =
    (what: 'isAt' | 'read' | 'write' | 'writeAside' | 'close') =>
    async (body?: object): Promise<unknown> => {
      asked.push(body === undefined ? [what] : [what, body]);
      const n = asked.filter(([each]) => each === what).length;
      return { ...usual, ...answers }[what]?.(n);
    };
  const file = {
    path: on.path,
    isAt: call('isAt'),
    read: call('read'),
    write: call('write'),
    writeAside: call('writeAside'),
    close: call('close'),
  } as unknown as LockedFile;
  const holds = new Holds();
  holds.add('key', file, 7, leaseMs, instant(realSystem.clock));
  const place = { stamp: () => AT } as unknown as Place;
  return {
    holds,
    asked,
    renewed: (token = 7) => renew(place, holds, 'key', token, 5_000),
    released: (marks: { slotDone: number | undefined; holdMs: number } = NO_MARKS) => release(place, holds, 'key', on.path, 'me', marks),
    end: async () => holds.get('key')?.end(),
  };
}

describe('a renewal', () => {
  it('I6 needs the lock alone; it is told beside the record how it stands', async () => {
    const at = inHand();
    expect(await at.renewed()).toBe('renewed');
    expect(at.asked).toStrictEqual([['isAt'], ['writeAside', { token: 7, leaseMs: 5_000, at: AT }]]);
    await at.end();
  });

  it('I12 where that cannot be told it is renewed all the same, and nothing is left unheard', async () => {
    const unheard: unknown[] = [];
    const listener = (reason: unknown): void => void unheard.push(reason);
    process.on('unhandledRejection', listener);
    const at = inHand({ writeAside: () => Promise.reject(new Error('disk full')) });
    expect(await at.renewed()).toBe('renewed');
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', listener);
    expect(unheard).toEqual([]);
    await at.end();
  });

  it('I4 of a lease that nobody here holds, or another one, is lost; and that other one goes on', async () => {
    const at = inHand();
    expect(await at.renewed(6)).toBe('lost');
    expect([at.asked, at.holds.get('key')?.over]).toEqual([[], false]);
    await at.end();
    expect(await at.renewed()).toBe('lost');
  });

  it('I4 of a file that is not the one that others lock by now is lost, and it is given up', async () => {
    const at = inHand({ isAt: () => false });
    expect(await at.renewed()).toBe('lost');
    expect([at.asked, at.holds.get('key')]).toStrictEqual([[['isAt'], ['close']], undefined]);
  });

  it('I6 that comes too late is lost, also where that is seen only after the look', async () => {
    const late = inHand({}, 1);
    await new Promise((resolve) => setImmediate(resolve));
    const stop = performance.now() + 5;
    while (performance.now() < stop);
    expect(await late.renewed()).toBe('lost');
    expect([late.asked.filter(([what]) => what === 'isAt'), late.holds.get('key')]).toEqual([[], undefined]);
    const between = inHand({
      isAt: async () => {
        await between.end();
        return true;
      },
    });
    expect(await between.renewed()).toBe('lost');
    expect(between.asked.map(([what]) => what)).not.toContain('writeAside');
  });
});

describe('a release', () => {
  it('I1 writes what is to be remembered, looks whether it was still the file of all, and then gives up the lock', async () => {
    const at = inHand();
    expect(await at.released({ slotDone: 5, holdMs: 100 })).toBe('released');
    expect(at.asked).toStrictEqual([['isAt'], ['read'], ['write', { ...HELD, state: 'released', leaseMs: 100, lastSlot: 5 }], ['isAt'], ['close']]);
    expect(at.holds.get('key')).toBeUndefined();
  });

  it.each<[string, Parameters<typeof inHand>[0]]>([
    ['of a file that is not the one that others lock', { isAt: () => false }],
    ['of one that was replaced as it was written', { isAt: (n) => n === 1 }],
    ['of one that somebody else has written', { read: () => ({ kind: 'kept', entry: { seq: 1, slot: 0, body: { ...HELD, token: 8 } } }) }],
    ['of one that is empty', { read: () => ({ kind: 'empty' }) }],
  ])('I4 %s is lost', async (_, answers) => {
    const at = inHand(answers);
    expect(await at.released({ slotDone: 5, holdMs: 0 })).toBe('lost');
    expect(at.asked.at(-1)).toEqual(['close']);
    if (!('isAt' in (answers ?? {}))) expect(at.asked.map(([what]) => what)).not.toContain('write');
  });

  it.each([
    ['a slot', { slotDone: 0, holdMs: 0 }],
    ['a minimum hold', { slotDone: undefined, holdMs: 1 }],
  ])('I8 with %s to remember, which cannot be written: doubt, and the lease is kept', async (_, marks) => {
    const failure = Object.assign(new Error('EIO: x'), { code: 'EIO' });
    const at = inHand({ write: () => Promise.reject(failure) });
    const error = await at.released(marks).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'WRITE_UNKNOWN', message: expect.stringContaining('(mark the lease)'), cause: failure });
    expect(at.holds.get('key')?.over).toBe(false);
    expect(at.asked.map(([what]) => what)).not.toContain('close');
    await at.end();
  });

  it('with nothing to remember needs no disk', async () => {
    const at = inHand({ read: () => Promise.reject(new Error('EIO')) });
    expect(await at.released()).toBe('released');
    expect(at.asked.at(-1)).toEqual(['close']);
  });

  it('I6 that fails and is too late by then is lost', async () => {
    const at = inHand({
      write: async () => {
        await at.end();
        throw new Error('closed');
      },
    });
    expect(await at.released({ slotDone: 5, holdMs: 0 })).toBe('lost');
  });
});

describe('I7 a release of what nobody here holds', () => {
  const ofFile = async (body: object | undefined, owner = 'me') => {
    if (body === undefined) await rm(on.path, { force: true });
    else await writeFile(on.path, Buffer.concat([encode(1, body), Buffer.alloc(SLOT_BYTES)]).subarray(0, SLOT_BYTES));
    return release(await openPlace(on.directory, 'user'), new Holds(), 'key', on.path, owner, NO_MARKS);
  };
  const done = { ...HELD, state: 'released' };

  it('is a second copy of one that succeeded, where it stands there as that owner’s, and else it is lost', async () => {
    expect(await ofFile(done)).toBe('released');
    expect(await ofFile(done, 'other')).toBe('lost');
    expect(await ofFile(HELD)).toBe('lost');
    expect(await ofFile({ state: 'released', owner: 'me' }), 'no record of ours').toBe('lost');
    expect(await ofFile(undefined)).toBe('lost');
    await writeFile(on.path, '');
    const made = release(await openPlace(on.directory, 'user'), new Holds(), 'key', on.path, 'me', NO_MARKS);
    expect(await made, 'made, and never written').toBe('lost');
    expect(await on.openFiles()).toEqual([]);
  });
});
