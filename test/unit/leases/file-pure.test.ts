import { describe, expect, it } from 'vitest';
import { fileNameOf } from '../../../src/leases/file/file-name.ts';
import { hostDirectory } from '../../../src/leases/file/options.ts';
import { networkFileSystem } from '../../../src/leases/file/place.ts';
import { broken, claimed, decideAcquire, heldForMs, type LeaseRecord, leftMs, nextToken, released } from '../../../src/leases/file/record.ts';
import { ASIDE_OFFSET, decode, encode, nextSlot, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { elapsedSinceMs, type Stamp } from '../../../src/leases/file/stamp.ts';

const NOON: Stamp = { wallMs: 1_767_268_800_000, upMs: 5_000, boot: 'a' };
const later = (ms: number, changes: Partial<Stamp> = {}): Stamp => ({ ...NOON, wallMs: NOON.wallMs + ms, upMs: NOON.upMs + ms, ...changes });

describe('two slots', () => {
  /** As they lie in the file after so many writes. */
  const fileOf = (...bodies: object[]): Buffer => {
    const file = Buffer.alloc(Math.min(bodies.length, 2) * SLOT_BYTES);
    bodies.forEach((body, n) => void encode(n + 1, body).copy(file, (n % 2) * SLOT_BYTES));
    return file;
  };

  it('the last write stands, and the next never goes over it', () => {
    for (const writes of [1, 2, 3, 4]) {
      const { entry } = decode(fileOf(...Array.from({ length: writes }, (_, n) => ({ n }))));
      expect(entry).toMatchObject({ seq: writes, body: { n: writes - 1 } });
      expect(nextSlot(entry)).toBe(writes % 2);
    }
    expect(nextSlot(undefined)).toBe(0);
  });

  it('I5 a write torn at any byte, over what stood there before, leaves the one before it standing', () => {
    const next = encode(4, { token: 103, label: 'ä€😀' });
    for (let written = 0; written < next.length - 1; written += 1) {
      const file = fileOf({ token: 100 }, { token: 101, more: 'x'.repeat(300) }, { token: 102 });
      next.copy(file, SLOT_BYTES, 0, written);
      expect(decode(file)).toMatchObject({ kind: 'kept', entry: { seq: 3, body: { token: 102 } } });
    }
    const whole = fileOf({ token: 100 }, { token: 101, more: 'x'.repeat(300) }, { token: 102 });
    next.copy(whole, SLOT_BYTES);
    expect(decode(whole).entry?.body).toMatchObject({ token: 103 });
  });

  it('any single wrong byte in what stands is noticed', () => {
    const bytes = encode(2, { token: 101 });
    for (let at = 0; at < bytes.length - 1; at += 1) {
      const file = fileOf({ token: 100 }, { token: 101 });
      file[SLOT_BYTES + at] = (file[SLOT_BYTES + at] ?? 0) ^ 1;
      expect(decode(file).entry).toMatchObject({ seq: 1, body: { token: 100 } });
    }
  });

  it('I10 a first write that was torn is as if it had never been; two slots that are both damaged are not', () => {
    const first = encode(1, { token: 100 });
    for (let written = 0; written < first.length - 1; written += 1) expect(decode(first.subarray(0, written)).kind).toBe('empty');
    expect(decode(Buffer.alloc(SLOT_BYTES)).kind).toBe('empty');
    const file = fileOf({ token: 100 }, { token: 101 });
    file.fill(0, 0, 10);
    file.fill(0, SLOT_BYTES, SLOT_BYTES + 10);
    expect(decode(file)).toEqual({ kind: 'unreadable' });
  });

  it('what lies aside may be torn without loss', () => {
    const file = Buffer.concat([fileOf({ token: 100 }, { token: 101 }), encode(0, { token: 101 })]);
    expect(decode(file).aside).toEqual({ token: 101 });
    expect(decode(file.subarray(0, ASIDE_OFFSET + 20))).toEqual({ kind: 'kept', entry: { seq: 2, slot: 1, body: { token: 101 } } });
  });

  it('the longest record fits into a slot, whatever its characters', () => {
    const wanted = { name: '\ud800'.repeat(512), owner: '\u0000'.repeat(256), label: '\u0001'.repeat(256), leaseMs: 2_147_483_647 };
    const record = claimed({ lastSlot: Number.MAX_SAFE_INTEGER } as LeaseRecord, wanted, Number.MAX_SAFE_INTEGER, { ...NOON, boot: 'b'.repeat(64) });
    expect(decode(encode(Number.MAX_SAFE_INTEGER, record)).entry?.body).toEqual(record);
    expect(() => encode(1, { text: 'x'.repeat(SLOT_BYTES) })).toThrow(RangeError);
  });
});

describe('moments of one host', () => {
  it('a wall clock that is set does not change what has passed since the host was started', () => {
    expect(elapsedSinceMs(NOON, later(10, { wallMs: NOON.wallMs - 3_600_000 }))).toBe(10);
    expect(elapsedSinceMs(NOON, later(10, { wallMs: NOON.wallMs + 3_600_000 }))).toBe(10);
  });

  it('after a restart, or where starts have no name, the wall clock counts, and never backwards', () => {
    const restarted: Stamp = { wallMs: NOON.wallMs + 60_000, upMs: 10, boot: 'b' };
    expect(elapsedSinceMs(NOON, restarted)).toBe(60_000);
    expect(elapsedSinceMs(NOON, { ...restarted, wallMs: NOON.wallMs - 1 })).toBe(0);
    const nameless: Stamp = { wallMs: NOON.wallMs, upMs: NOON.upMs };
    expect(elapsedSinceMs(nameless, { wallMs: NOON.wallMs + 5, upMs: NOON.upMs + 9 })).toBe(5);
  });
});

describe('what stands in a lock file', () => {
  const wanted = { name: 'n', owner: 'o', label: 'host', leaseMs: 1_000 };
  const standing = claimed(undefined, wanted, 100, NOON);
  const free = { slot: undefined };

  it('I5 tokens grow: from the one that stands, from the clock where that is ahead, and where nothing stands', () => {
    expect(nextToken(undefined, NOON)).toBe(NOON.wallMs);
    expect(nextToken({ token: 100 }, NOON)).toBe(NOON.wallMs);
    expect(nextToken({ token: NOON.wallMs + 5 }, NOON)).toBe(NOON.wallMs + 6);
  });

  it('I10 a holder that stands there without the lock of the kernel is dead: no time has to pass', () => {
    expect(decideAcquire(standing, free, NOON)).toMatchObject({ kind: 'claim' });
  });

  it('the minimum hold is over when it is over, also after a restart and whatever the wall clock says', () => {
    const held = released(standing, { slotDone: undefined, holdMs: 500 }, NOON);
    expect(decideAcquire(held, free, later(499, { wallMs: NOON.wallMs + 3_600_000 }))).toEqual({ kind: 'held', retryAfterMs: 1, label: 'host' });
    expect(decideAcquire(held, free, later(500, { wallMs: NOON.wallMs - 3_600_000 }))).toMatchObject({ kind: 'claim' });
    expect(decideAcquire(held, free, later(100, { boot: 'b', upMs: 0 }))).toMatchObject({ kind: 'held', retryAfterMs: 400 });
    expect(decideAcquire(held, free, later(500, { boot: 'b', upMs: 0 }))).toMatchObject({ kind: 'claim' });
    expect(leftMs(held, later(-3_600_000, { boot: 'b' }))).toBe(500);
  });

  it('a newer claim takes the mark along, and only a higher one replaces it', () => {
    const done = released(standing, { slotDone: 7, holdMs: 0 }, NOON);
    const next = claimed(done, wanted, 101, NOON);
    expect(next.lastSlot).toBe(7);
    expect(released(next, { slotDone: 6, holdMs: 0 }, NOON).lastSlot).toBe(7);
    expect(released(next, { slotDone: 8, holdMs: 0 }, NOON).lastSlot).toBe(8);
    expect(decideAcquire(next, { slot: 7 }, NOON)).toEqual({ kind: 'slot-done' });
    expect(decideAcquire(next, { slot: 6 }, NOON)).toEqual({ kind: 'slot-passed', lastSlot: 7 });
  });

  it('I4 I5 what an operator broke is free, its token above all that are known, its mark the highest', () => {
    const hold = { ...released(standing, { slotDone: 7, holdMs: 60_000 }, NOON), token: NOON.wallMs + 50 };
    const result = broken('n', [hold, { ...standing, token: NOON.wallMs + 60, lastSlot: 3 }], NOON);
    expect(result).toMatchObject({ state: 'released', token: NOON.wallMs + 61, lastSlot: 7, leaseMs: 0 });
    expect(result).not.toHaveProperty('owner');
    expect(broken('n', [undefined], NOON)).toMatchObject({ token: NOON.wallMs });
  });

  it('what a holder still has counts from its last renewal, if that is its own', () => {
    expect(heldForMs(standing, undefined, later(600))).toBe(400);
    expect(heldForMs(standing, { token: 100, leaseMs: 1_000, at: later(500) }, later(600))).toBe(900);
    expect(heldForMs(standing, { token: 99, leaseMs: 1_000, at: later(500) }, later(600))).toBe(400);
    expect(heldForMs(standing, undefined, later(6_000))).toBe(0);
  });
});

describe('names and places', () => {
  it('file names are plain, short and in lower case, whatever the name of the lease', () => {
    for (const name of ['../../etc/passwd', 'CON', 'a'.repeat(512), '\0', '😀', 'Nightly report', '.', '\ud800']) {
      expect(fileNameOf(name)).toMatch(/^(?:[a-z0-9][a-z0-9-]{0,39}-)?[0-9a-f]{64}\.lease$/);
    }
    expect(fileNameOf('Nightly report')).toMatch(/^nightly-report-[0-9a-f]{64}\.lease$/);
    expect(new Set(['a', 'A', 'a ', 'ä', 'a\u0308', '\ud800', '\ud801'].map(fileNameOf)).size).toBe(7);
  });

  it("the host's own place outlives a restart", () => {
    expect(hostDirectory('linux', {})).toBe('/var/lib/rerunsafe/leases');
    expect(hostDirectory('darwin', {})).toBe('/Library/Application Support/rerunsafe/leases');
    expect(hostDirectory('win32', { ProgramData: 'D:\\Data' })).toBe('D:\\Data\\rerunsafe\\leases');
    expect(hostDirectory('win32', {})).toBe('C:\\ProgramData\\rerunsafe\\leases');
  });

  it('network file systems are known by their numbers, local ones are let through', () => {
    expect([0x6969, 0xff534d42, 0xfe534d42].map(networkFileSystem)).toEqual(['NFS', 'SMB (CIFS)', 'SMB 2']);
    // ext4, tmpfs, overlayfs, btrfs, xfs
    for (const type of [0xef53, 0x01021994, 0x794c7630, 0x9123683e, 0x58465342]) expect(networkFileSystem(type)).toBeUndefined();
  });
});
