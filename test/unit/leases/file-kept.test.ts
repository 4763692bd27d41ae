import { describe, expect, it } from 'vitest';
import { recordIn } from '../../../src/leases/file/look.ts';
import {
  broken,
  claimed,
  decideAcquire,
  heldAnswer,
  heldForMs,
  isLeaseRecord,
  type LeaseRecord,
  leftMs,
  nextToken,
  released,
} from '../../../src/leases/file/record.ts';
import { decode, encode, FILE_BYTES, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { elapsedSinceMs, type Stamp, stampClock } from '../../../src/leases/file/stamp.ts';

const NOON: Stamp = { wallMs: 1_767_268_800_000, upMs: 5_000, boot: 'a' };
const later = (ms: number): Stamp => ({ ...NOON, wallMs: NOON.wallMs + ms, upMs: NOON.upMs + ms });
const HELD: LeaseRecord = { name: 'n', token: 100, state: 'held', owner: 'o', label: 'host', leaseMs: 1_000, at: NOON, lastSlot: 5 };
const BARE: LeaseRecord = { name: 'n', token: 100, state: 'released', leaseMs: 0, at: NOON };
const MOST = Number.MAX_SAFE_INTEGER;

describe('what is a lease record', () => {
  it('with all there is, and with the least', () => {
    expect([isLeaseRecord(HELD), isLeaseRecord(BARE)]).toEqual([true, true]);
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'held'],
    ['no token', { ...HELD, token: undefined }],
    ['a token that is no whole number', { ...HELD, token: 1.5 }],
    ['another state', { ...HELD, state: 'free' }],
    ['no length', { ...HELD, leaseMs: undefined }],
    ['no moment', { ...HELD, at: undefined }],
    ['no wall clock', { ...HELD, at: { upMs: 1 } }],
    ['no clock of the host', { ...HELD, at: { wallMs: 1 } }],
    ['an owner that is no text', { ...HELD, owner: 5 }],
    ['a label that is no text', { ...HELD, label: 5 }],
    ['a slot that is no whole number', { ...HELD, lastSlot: 1.5 }],
  ])('I5 not %s', (_, body) => {
    expect(isLeaseRecord(body)).toBe(false);
  });

  it('I5 what stands in a file is one, or nothing, or wants a person', () => {
    expect(recordIn({ kind: 'empty' }, '/a')).toBeUndefined();
    expect(recordIn({ kind: 'kept', entry: { seq: 1, slot: 0, body: HELD } }, '/a')).toBe(HELD);
    for (const contents of [{ kind: 'unreadable' }, { kind: 'kept' }, { kind: 'kept', entry: { seq: 1, slot: 0, body: {} } }] as const) {
      expect(() => recordIn(contents, '/a')).toThrow(
        expect.objectContaining({
          code: 'STORE_MISCONFIGURED',
          message:
            'The store cannot be used as it is set up: /a cannot be read: it is damaged, or was written by something else. Break the lease: its tokens go on, its marks of slots are forgotten.',
        }),
      );
    }
  });
});

describe('what is left of a lease', () => {
  it('is rounded up, and negative when it is over; what is told of it never is', () => {
    expect([leftMs(HELD, later(999)), leftMs(HELD, later(1_000)), leftMs(HELD, later(1_001)), leftMs({ leaseMs: 0.5, at: NOON }, NOON)]).toEqual([
      1, 0, -1, 1,
    ]);
    expect([heldForMs(HELD, undefined, later(999)), heldForMs(HELD, undefined, later(1_001)), heldForMs(HELD, null, NOON)]).toEqual([1, 0, 1_000]);
  });

  it('what has passed since a start that has no name is told by the wall clock', () => {
    const nameless = { wallMs: 10, upMs: 10 };
    expect(elapsedSinceMs(nameless, { ...nameless, wallMs: 15, upMs: 99 })).toBe(5);
    expect(elapsedSinceMs({ ...nameless, boot: 'a' }, { ...nameless, wallMs: 15, upMs: 99 })).toBe(5);
    expect(elapsedSinceMs({ ...nameless, boot: 'a' }, { ...nameless, boot: 'a', wallMs: 15, upMs: 99 })).toBe(89);
    expect(elapsedSinceMs({ ...nameless, boot: 'a' }, { ...nameless, boot: 'a', upMs: 5 })).toBe(0);
  });

  it('a stamp is read from both clocks, and names the start of the host where the system does', async () => {
    const now = await stampClock();
    const stamp = now();
    expect(Math.abs(stamp.wallMs - Date.now())).toBeLessThan(1_000);
    expect(Number.isInteger(stamp.upMs)).toBe(true);
    expect(Math.abs(stamp.upMs - Number(process.hrtime.bigint()) / 1e6)).toBeLessThan(1_000);
    if (process.platform === 'linux') expect(stamp.boot).toMatch(/^[0-9a-f-]{36} time:\[\d+\]$/);
  });
});

describe('tokens and slots', () => {
  it('I5 a token is above the one that stands and not below the clock; beyond the last there is none', () => {
    expect([nextToken(undefined, NOON), nextToken({ token: NOON.wallMs }, NOON), nextToken({ token: NOON.wallMs - 1 }, NOON)]).toEqual([
      NOON.wallMs,
      NOON.wallMs + 1,
      NOON.wallMs,
    ]);
    expect(nextToken({ token: MOST - 1 }, NOON)).toBe(MOST);
    expect(() => nextToken({ token: MOST }, NOON)).toThrow(
      expect.objectContaining({
        code: 'STORE_MISCONFIGURED',
        message: `The store cannot be used as it is set up: the lock file has the token ${MOST}, above which there is none; no lease gives out such a one. Use a lease of another name, or, if no store was ever written to with that token, stop all who use this one and delete its file.`,
      }),
    );
  });

  it('who asks with the lock in hand gets it, unless it has to stay taken, or the slot is done or passed', () => {
    const claim = { kind: 'claim', token: NOON.wallMs };
    expect(decideAcquire(undefined, { slot: undefined }, NOON)).toStrictEqual(claim);
    expect(decideAcquire(HELD, { slot: undefined }, NOON)).toStrictEqual(claim);
    expect(decideAcquire(HELD, { slot: 6 }, NOON)).toStrictEqual(claim);
    expect(decideAcquire(BARE, { slot: 6 }, NOON)).toStrictEqual(claim);
    expect(decideAcquire(HELD, { slot: 5 }, NOON)).toStrictEqual({ kind: 'slot-done' });
    expect(decideAcquire(HELD, { slot: 4 }, NOON)).toStrictEqual({ kind: 'slot-passed', lastSlot: 5 });
    const hold = { ...BARE, leaseMs: 500 };
    expect(decideAcquire(hold, { slot: undefined }, later(499))).toStrictEqual({ kind: 'held', retryAfterMs: 1 });
    expect(decideAcquire(hold, { slot: undefined }, later(500))).toStrictEqual({ ...claim, token: NOON.wallMs + 500 });
  });

  it('who is told of a holder hears what is known, and no more', () => {
    expect(heldAnswer({}, 0)).toStrictEqual({ kind: 'held' });
    expect(heldAnswer({ label: 'host', lastSlot: 0 }, 1)).toStrictEqual({ kind: 'held', retryAfterMs: 1, label: 'host', lastSlot: 0 });
  });
});

describe('what is written', () => {
  it('when it is claimed', () => {
    const wanted = { name: 'n', owner: 'o', label: 'host', leaseMs: 1_000 };
    expect(claimed(HELD, wanted, 101, NOON)).toStrictEqual({ ...HELD, token: 101 });
    for (const label of [undefined, '']) {
      const { label: _, lastSlot: __, ...rest } = HELD;
      expect(claimed(BARE, { ...wanted, label }, 100, NOON)).toStrictEqual(rest);
      expect(claimed(undefined, { ...wanted, label }, 100, NOON)).toStrictEqual(rest);
    }
  });

  it('when it is released: the mark never goes back, and is none where there was none', () => {
    const at = later(5);
    expect(released(HELD, { slotDone: undefined, holdMs: 0.5 }, at)).toStrictEqual({ ...HELD, state: 'released', leaseMs: 1, at });
    expect(released(HELD, { slotDone: 4, holdMs: 0 }, at).lastSlot).toBe(5);
    expect(released(HELD, { slotDone: 6, holdMs: 0 }, at).lastSlot).toBe(6);
    expect(released(BARE, { slotDone: 4, holdMs: 0 }, at)).toStrictEqual({ ...BARE, at, lastSlot: 4 });
    expect(released(BARE, { slotDone: undefined, holdMs: 0 }, at)).toStrictEqual({ ...BARE, at });
  });

  it('I5 when it is broken: above all that are known', () => {
    const free = { name: 'n', token: NOON.wallMs, state: 'released', leaseMs: 0, at: NOON };
    expect(broken('n', [], NOON)).toStrictEqual(free);
    expect(broken('n', [BARE, undefined], NOON)).toStrictEqual(free);
    expect(broken('n', [BARE, HELD], NOON)).toStrictEqual({ ...free, lastSlot: 5 });
    expect(broken('n', [{ ...HELD, lastSlot: 3 }, HELD], NOON).lastSlot).toBe(5);
    expect(broken('n', [BARE, { ...BARE, token: NOON.wallMs + 9 }], NOON).token).toBe(NOON.wallMs + 10);
  });
});

describe('a slot of the file', () => {
  const WHOLE = encode(1, { token: 100 });
  const fileOf = (...parts: readonly [Buffer, number][]): Buffer => {
    const file = Buffer.alloc(FILE_BYTES);
    for (const [bytes, at] of parts) bytes.copy(file, at);
    return file;
  };

  it('takes what just fits into it', () => {
    const room = SLOT_BYTES - encode(1, { text: '' }).length;
    // The length is told in as many digits.
    const text = (bytes: number): object => ({ text: 'x'.repeat(bytes) });
    const digits = `${SLOT_BYTES}`.length - 2;
    expect(encode(1, text(room - digits)).length).toBe(SLOT_BYTES);
    expect(() => encode(1, text(room - digits + 1))).toThrow(new RangeError(`an entry of ${SLOT_BYTES + 1} bytes is longer than a slot`));
  });

  it('is read by people: a line that says which write it is, and a line with the value', () => {
    expect(WHOLE.toString()).toMatch(/^rerunsafe-1 1 13 [0-9a-f]{32}\n\{"token":100\}\n$/);
  });

  it('I5 the higher count stands, whichever slot it is in; of one that is whole beside one that is not, the whole one', () => {
    const [one, two] = [encode(1, { n: 1 }), encode(2, { n: 2 })];
    expect(decode(fileOf([one, 0], [two, SLOT_BYTES]))).toStrictEqual({ kind: 'kept', entry: { seq: 2, body: { n: 2 }, slot: 1 } });
    expect(decode(fileOf([two, 0], [one, SLOT_BYTES]))).toStrictEqual({ kind: 'kept', entry: { seq: 2, body: { n: 2 }, slot: 0 } });
    expect(decode(fileOf([one, 0]))).toStrictEqual({ kind: 'kept', entry: { seq: 1, body: { n: 1 }, slot: 0 } });
    expect(decode(fileOf([one, SLOT_BYTES]))).toStrictEqual({ kind: 'kept', entry: { seq: 1, body: { n: 1 }, slot: 1 } });
  });

  it.each([
    ['another magic word', 'rerunsafe-2'],
    ['a count that is none', 'rerunsafe-1 x'],
  ])('I5 %s is not one of ours', (_, front) => {
    const text = WHOLE.toString();
    const changed = front.endsWith('x') ? text.replace('rerunsafe-1 1', front) : text.replace('rerunsafe-1', front);
    expect(decode(fileOf([Buffer.from(changed), 0])).kind).toBe('unreadable');
  });

  it.each<[string, string, 'empty' | 'unreadable']>([
    ['nothing', '', 'empty'],
    ['a part of the magic word', 'rerun', 'empty'],
    ['the magic word', 'rerunsafe-1 1 ', 'empty'],
    ['and a part of the length', 'rerunsafe-1 1 1', 'empty'],
    ['and a part of the checksum', 'rerunsafe-1 1 13 0123abc', 'empty'],
    ['and all of it', `rerunsafe-1 1 13 ${'0'.repeat(32)}`, 'empty'],
    ['and a part of the value', `rerunsafe-1 1 13 ${'0'.repeat(32)}\n{"tok`, 'empty'],
    ['a value as long as it was to be', `rerunsafe-1 1 13 ${'0'.repeat(32)}\n{"token":100}`, 'unreadable'],
    ['a second line feed', `rerunsafe-1 1 13 ${'0'.repeat(32)}\n{"tok\n`, 'unreadable'],
    ['a checksum that is too short, and a value', `rerunsafe-1 1 13 ${'0'.repeat(31)}\n{"tok`, 'unreadable'],
    ['a checksum that is too long', `rerunsafe-1 1 13 ${'0'.repeat(33)}`, 'unreadable'],
    ['a checksum that is too long, and a value', `rerunsafe-1 1 13 ${'0'.repeat(33)}\n{"tok`, 'unreadable'],
    ['a length that is none', 'rerunsafe-1 1 x', 'unreadable'],
    ['a length that is none, and a checksum', `rerunsafe-1 1 x13 ${'0'.repeat(32)}\n{"tok`, 'unreadable'],
    ['a later write', `rerunsafe-1 2 13 ${'0'.repeat(32)}\n{"tok`, 'unreadable'],
    ['something else', 'hello', 'unreadable'],
    ['something else, with a line', 'hello\nworld', 'unreadable'],
  ])('I5 I10 a first write that was torn is as if it had never been, all else wants a person: %s', (_, written, kind) => {
    expect(decode(Buffer.from(written))).toStrictEqual({ kind });
    if (written !== '') expect(decode(Buffer.concat([Buffer.from(written), Buffer.alloc(50)]))).toStrictEqual({ kind });
  });

  it('I5 what is longer than the first slot was whole once', () => {
    expect(decode(Buffer.alloc(SLOT_BYTES)).kind).toBe('empty');
    expect(decode(Buffer.alloc(SLOT_BYTES + 1)).kind).toBe('unreadable');
  });
});
