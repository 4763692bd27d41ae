import { readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { storeUnavailable, writeUnknown } from '../../../src/core/errors.ts';
import { breakLease, read } from '../../../src/leases/file/operate.ts';
import { openPlace, type Place } from '../../../src/leases/file/place.ts';
import type { LeaseRecord } from '../../../src/leases/file/record.ts';
import { decode, encode, SLOT_BYTES } from '../../../src/leases/file/slots.ts';
import { fileSubject, NAME } from './file-subject.ts';

const on = fileSubject();
const NOW = { wallMs: 1_767_268_800_000, upMs: 90_000, boot: 'a' };
const ago = (ms: number) => ({ ...NOW, wallMs: NOW.wallMs - ms, upMs: NOW.upMs - ms });
const HELD: LeaseRecord = { name: NAME, token: 7, state: 'held', owner: 'me', label: 'host', leaseMs: 1_000, at: ago(400), lastSlot: 5 };
const refusal = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

async function stage({ locked = false, ...more }: Partial<Place> & { locked?: boolean } = {}): Promise<Place> {
  const place = await openPlace(on.directory, 'user');
  return { ...place, stamp: () => NOW, locks: { ...place.locks, isLocked: () => locked }, ...more };
}
/** As it lies in the file; what is beside it too. */
function put(body: object, aside?: object): void {
  const file = Buffer.alloc(3 * SLOT_BYTES);
  encode(1, body).copy(file);
  if (aside !== undefined) encode(0, aside).copy(file, 2 * SLOT_BYTES);
  writeFileSync(on.path, file);
}
const body = async (): Promise<unknown> => decode(await readFile(on.path)).entry?.body;

describe('who looks at a lease', () => {
  const released: LeaseRecord = { ...HELD, state: 'released', leaseMs: 0 };

  it.each<[string, boolean, LeaseRecord, object | undefined, object]>([
    ['held', true, HELD, undefined, { held: true, token: 7, owner: 'me', label: 'host', remainingMs: 600, lastSlot: 5 }],
    [
      'held, and renewed',
      true,
      HELD,
      { token: 7, leaseMs: 1_000, at: NOW },
      { held: true, token: 7, owner: 'me', label: 'host', remainingMs: 1_000, lastSlot: 5 },
    ],
    [
      'held, and overdue',
      true,
      { ...HELD, at: ago(1_001) },
      undefined,
      { held: true, token: 7, owner: 'me', label: 'host', remainingMs: 0, lastSlot: 5 },
    ],
    ['held by a process that is dead', false, HELD, undefined, { held: false, token: 7, lastSlot: 5 }],
    ['released', false, released, undefined, { held: false, token: 7, lastSlot: 5 }],
    [
      'released, and to stay taken for a while',
      false,
      { ...released, leaseMs: 500 },
      undefined,
      { held: true, token: 7, label: 'host', remainingMs: 100, lastSlot: 5 },
    ],
    ['released, and free by now', false, { ...released, leaseMs: 400 }, undefined, { held: false, token: 7, lastSlot: 5 }],
    ['released, and just being acquired', true, released, undefined, { held: true, token: 7, label: 'host', lastSlot: 5 }],
  ])('sees that it is %s', async (_, locked, record, aside, state) => {
    put(record, aside);
    expect(await read(await stage({ locked }), on.path)).toStrictEqual(state);
  });

  it('sees no more than there is', async () => {
    const { owner: _, label: __, lastSlot: ___, ...bare } = HELD;
    put(bare);
    expect(await read(await stage({ locked: true }), on.path)).toStrictEqual({ held: true, token: 7, remainingMs: 600 });
  });

  it('sees one that is being made, and none where there is nothing', async () => {
    expect(await read(await stage(), on.path)).toBeUndefined();
    await writeFile(on.path, '');
    expect(await read(await stage(), on.path)).toBeUndefined();
    expect(await read(await stage({ locked: true }), on.path)).toStrictEqual({ held: true, token: 0 });
  });

  it('sees somebody at one that cannot be read; where there is nobody, a person has to act', async () => {
    await writeFile(on.path, 'x'.repeat(3 * SLOT_BYTES));
    expect(await read(await stage({ locked: true }), on.path)).toStrictEqual({ held: true, token: 0 });
    expect(await refusal(read(await stage(), on.path))).toMatchObject({ code: 'STORE_MISCONFIGURED' });
  });
});

describe('who breaks a lease', () => {
  const broken = (more: object = {}) => ({ name: NAME, token: NOW.wallMs, state: 'released', leaseMs: 0, at: NOW, ...more });
  const left = async (): Promise<string[]> => (await readdir(on.directory)).sort();

  it('I4 I5 frees it, with a higher token and the slots that are done, and leaves nothing else behind', async () => {
    put({ ...HELD, token: NOW.wallMs + 5 });
    await breakLease(await stage(), NAME, on.path, undefined);
    expect(await body()).toStrictEqual(broken({ token: NOW.wallMs + 6, lastSlot: 5 }));
    expect(await left()).toEqual([`.${basename(on.path)}.break`, basename(on.path)]);
    expect(await on.openFiles()).toEqual([]);
  });

  it('I5 frees one that is damaged, with a token from the clock, a moment later', async () => {
    for (const text of ['x'.repeat(3 * SLOT_BYTES), '']) {
      await writeFile(on.path, text);
      const since = performance.now();
      await breakLease(await stage(), NAME, on.path, undefined);
      expect(performance.now() - since).toBeGreaterThanOrEqual(10);
      expect(await body()).toStrictEqual(broken());
    }
  });

  it('where there is none makes none', async () => {
    await breakLease(await stage(), NAME, on.path, undefined);
    expect(await left()).toEqual([`.${basename(on.path)}.break`]);
  });

  it('I12 does not begin once given up', async () => {
    put(HELD);
    const reason = new Error('enough');
    expect(await refusal(breakLease(await stage(), NAME, on.path, AbortSignal.abort(reason)))).toBe(reason);
    expect(await body()).toStrictEqual(HELD);
  });

  it('I4 that fails before the new file is in place has changed nothing, says why, and leaves nothing behind', async () => {
    put(HELD);
    const failure = storeUnavailable('no clock', undefined);
    const stamp = (): never => {
      throw failure;
    };
    expect(await refusal(breakLease(await stage({ stamp }), NAME, on.path, undefined))).toBe(failure);
    expect([await body(), await left(), await on.openFiles()]).toEqual([HELD, [`.${basename(on.path)}.break`, basename(on.path)], []]);
  });

  it('I5 that cannot read the old file does not begin anew from the clock: it fails, and has changed nothing', async () => {
    put({ ...HELD, token: NOW.wallMs + 50 });
    const handle = await open(on.path, 'r');
    const files = Object.getPrototypeOf(handle) as FileHandle;
    await handle.close();
    const { read: really } = files;
    const failure = Object.assign(new Error('EIO: x'), { code: 'EIO' });
    vi.spyOn(files, 'read').mockImplementation(function (this: FileHandle, ...given: unknown[]) {
      if (readlinkSync(`/proc/self/fd/${this.fd}`) === on.path) return Promise.reject(failure);
      return (really as (...given: unknown[]) => never).apply(this, given);
    } as never);
    const error = await refusal(breakLease(await stage(), NAME, on.path, undefined));
    vi.restoreAllMocks();
    expect(error).toBe(failure);
    expect(await body()).toMatchObject({ token: NOW.wallMs + 50, state: 'held' });
    expect(await left()).toHaveLength(2);
  });

  it('I4 whose new file somebody else has locked says so', async () => {
    put(HELD);
    let locks = 0;
    const place = await stage();
    const tryLock = (): boolean => ++locks < 2;
    const error = await refusal(breakLease({ ...place, locks: { ...place.locks, tryLock } }, NAME, on.path, undefined));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringMatching(/\.new is locked by somebody else/) });
    expect(await left()).toHaveLength(2);
  });

  it('I8 that fails afterwards is in doubt, with the reason; what was in doubt before stays as it is', async () => {
    for (const [failure, expected] of [
      [new Error('bug'), { code: 'WRITE_UNKNOWN', message: expect.stringContaining(`break the lease: ${on.path} was replaced`) }],
      [writeUnknown('x', undefined), { message: expect.stringContaining('(x)') }],
    ] as const) {
      put(HELD);
      let times = 0;
      // The clock is asked again only where the old file was written meanwhile.
      const stamp = () => {
        times += 1;
        if (times > 1) throw failure;
        put({ ...HELD, token: NOW.wallMs + 50 });
        return NOW;
      };
      const error = await refusal(breakLease(await stage({ stamp }), NAME, on.path, undefined));
      expect(error).toMatchObject(expected);
      if (times > 1 && 'code' in expected) expect(error).toMatchObject({ cause: failure });
      expect(await body()).toMatchObject({ state: 'released' });
    }
  });

  it.each([
    ['a token that was given out meanwhile', { token: NOW.wallMs }, { token: NOW.wallMs + 1, lastSlot: 5 }, 2],
    ['a slot that was marked meanwhile', { lastSlot: 6 }, { lastSlot: 6, token: NOW.wallMs + 1 }, 2],
    ['nothing new', {}, { lastSlot: 5 }, 1],
  ])('I5 with %s', async (_, change, more, writes) => {
    put(HELD);
    let times = 0;
    const stamp = () => {
      times += 1;
      if (times === 1) put({ ...HELD, ...change });
      return NOW;
    };
    await breakLease(await stage({ stamp }), NAME, on.path, undefined);
    expect(await body()).toStrictEqual(broken(more));
    expect(times).toBe(writes);
    rmSync(on.path);
  });
});
