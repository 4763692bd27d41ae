import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { blobNameOf } from '../../../src/leases/azure-blob/blob-name.ts';
import { composeMetadata, holdUntil, type LeaseMetadata, nextToken, parseMetadata } from '../../../src/leases/azure-blob/metadata.ts';
import { checkBlobLeasesOptions, checkRequest, MAX_LEASE_MS, MIN_LEASE_MS } from '../../../src/leases/azure-blob/options.ts';

const said = (body: () => unknown): string | undefined => {
  try {
    body();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};
const container = { getBlockBlobClient() {}, createIfNotExists() {} };
const GUID = 'b6f1a0c2-0000-4000-8000-0123456789ab';

describe('the options of blobLeases', () => {
  const SETTING = 'must be the name of a setting, not a connection string';
  const CONTAINER = 'must be 3 to 63 lower-case letters, digits and single hyphens';
  const PREFIX = 'must be up to 200 letters, digits, "_", "-" and single "/", not beginning with one';
  const table: [name: string, good: unknown[], bad: unknown[], words: string][] = [
    [
      'container',
      [container],
      [{}, { getBlockBlobClient() {} }, { createIfNotExists() {} }],
      'must be an object with getBlockBlobClient, createIfNotExists',
    ],
    [
      'connection',
      ['AzureWebJobsStorage', 'a_b.c:d-1', 'x'.repeat(256)],
      ['', 'x'.repeat(257), 'AccountKey=secret;', ';x', 7, Object('abc')],
      SETTING,
    ],
    [
      'containerName',
      ['abc', 'a-b-c', 'ab-cd-ef', '0'.repeat(63)],
      ['ab', '0'.repeat(64), 'a--b', '-ab', 'ab-', 'Abc', 'abC', 'a_b', 7, Object('abc')],
      CONTAINER,
    ],
    ['prefix', ['', 'locks/', 'a/b-c_D9/', 'x'.repeat(200)], ['x'.repeat(201), '/a', 'a//b', '../', 'a b', 7, Object('abc')], PREFIX],
    ['requestTimeoutMs', [100, 60_000], [99, 60_001, 100.5], 'must be a whole number, at least 100, at most 60000'],
  ];

  it.each(table)('%s', (name, good, bad, words) => {
    for (const value of good)
      expect(
        said(() => checkBlobLeasesOptions({ [name]: value })),
        String(value),
      ).toBeUndefined();
    for (const value of bad)
      expect(
        said(() => checkBlobLeasesOptions({ [name]: value })),
        String(value),
      ).toBe(`blobLeases: ${name} ${words}.`);
  });

  it('what says where the container is has no place beside the container itself', () => {
    for (const name of ['connection', 'containerName']) {
      expect(said(() => checkBlobLeasesOptions({ container, [name]: 'abc' }))).toBe(`blobLeases: ${name} cannot be given beside container.`);
    }
    expect(said(() => checkBlobLeasesOptions({ container, prefix: 'a/', requestTimeoutMs: 100 }))).toBeUndefined();
  });

  it.each([[undefined], [null], ['x'], [7]])('%j are none', (options) => {
    expect(said(() => checkBlobLeasesOptions(options))).toBe('blobLeases: the options must be an object.');
  });

  it('those that are not known are named', () => {
    expect(said(() => checkBlobLeasesOptions({ leaseMs: 1 }))).toBe(
      'blobLeases: leaseMs is not an option. The options are container, connection, containerName, prefix, requestTimeoutMs.',
    );
  });
});

describe('what is asked of a Blob lease', () => {
  const table: [name: string, good: unknown[], bad: unknown[], words: string][] = [
    ['name', ['n', '\u0000', 'n'.repeat(512)], ['', 'n'.repeat(513), 7, Object('n')], 'must be a string of 1 to 512 characters'],
    [
      'owner',
      [GUID, GUID.toUpperCase()],
      ['', `x${GUID}`, `${GUID}x`, GUID.replace('-', ''), 'g6f1a0c2-0000-4000-8000-0123456789ab', 7, Object(GUID)],
      'must be a GUID, because it is the lease id (crypto.randomUUID() makes one)',
    ],
    ['token', [0, 7], [-1, 1.5, '7'], 'must be a whole number, at least 0'],
    ['leaseMs', [MIN_LEASE_MS, 15_000.5, MAX_LEASE_MS], [14_999, 60_001, '15000', Number.NaN], 'must be from 15000 to 60000 ms'],
    ['slot', [0, 7], [-1, 1.5], 'must be a whole number, at least 0'],
    ['slotDone', [0, 7], [-1, 1.5], 'must be a whole number, at least 0'],
    ['holdMs', [0, 0.5, Number.MAX_SAFE_INTEGER / 2], [-0.5, Number.MAX_SAFE_INTEGER], `must be from 0 to ${Number.MAX_SAFE_INTEGER / 2} ms`],
  ];

  it.each(table)('%s', (name, good, bad, words) => {
    for (const value of [...good, undefined])
      expect(
        said(() => checkRequest({ [name]: value })),
        String(value),
      ).toBeUndefined();
    for (const value of bad)
      expect(
        said(() => checkRequest({ [name]: value })),
        String(value),
      ).toBe(`a Blob lease: ${name} ${words}.`);
  });

  it('all that is wrong is said at once, and what is not known here is left alone', () => {
    expect(said(() => checkRequest({ token: -1, more: 5, slot: -1 }))).toBe(
      'a Blob lease: token must be a whole number, at least 0; slot must be a whole number, at least 0.',
    );
    expect(said(() => checkRequest({ more: 5 }))).toBeUndefined();
  });
});

describe('the metadata of a lease blob', () => {
  const FULL: LeaseMetadata = { token: 7, holder: 'h', label: 'a b', leaseSeconds: 15, lastSlot: 0, holdUntilMs: 9 };
  const RAW = { token: '7', holder: 'h', label: 'a%20b', leaseseconds: '15', lastslot: '0', holduntil: '9' };
  const NONE = { token: undefined, holder: undefined, label: undefined, leaseSeconds: undefined, lastSlot: undefined, holdUntilMs: undefined };

  it('I5 each part has a key of its own, and comes back', () => {
    expect(composeMetadata(undefined, FULL)).toStrictEqual(RAW);
    expect(parseMetadata(RAW)).toStrictEqual(FULL);
    expect(parseMetadata(undefined)).toStrictEqual(NONE);
    expect(parseMetadata({ holder: '', label: '' })).toStrictEqual(NONE);
  });

  it('what is not said any more is taken away, and what others put there is kept', () => {
    expect(composeMetadata({ ...RAW, costcentre: '12' }, {})).toStrictEqual({ costcentre: '12' });
    expect(composeMetadata(undefined, { label: '' })).toStrictEqual({});
  });

  it('a label is cut, and what cannot be in a header is said in another way', () => {
    expect(composeMetadata(undefined, { label: 'x'.repeat(300) }).label).toBe('x'.repeat(256));
    expect(parseMetadata({ label: '%E0%A4%A' }).label).toBe('%E0%A4%A');
    expect(composeMetadata(undefined, { label: '\uD800\uD800' }).label).toBe('%EF%BF%BD%EF%BF%BD');
  });

  it.each(['token', 'leaseseconds', 'lastslot', 'holduntil'])('I5 %s that is no number is refused, and said', (key) => {
    for (const value of ['x1', '1x', '', '9007199254740992', '00000000000000001']) {
      expect(said(() => parseMetadata({ [key]: value }))).toBe(
        `The store cannot be used as it is set up: the metadata "${key}" of a lease blob is not a whole number. Something else wrote to it; put back a higher token, by hand.`,
      );
    }
    expect(said(() => parseMetadata({ [key]: '9007199254740991' }))).toBeUndefined();
  });

  it('I5 tokens and holds, to the millisecond', () => {
    expect([nextToken(0, 5, 9), nextToken(5, 5, 9), nextToken(4, 5, 9), nextToken(undefined, 10, 9), nextToken(undefined, 9, 9)]).toEqual([
      5,
      6,
      5,
      10,
      undefined,
    ]);
    expect([holdUntil(1_000, 0), holdUntil(1_000, 500.2)]).toEqual([2_000, 2_501]);
  });
});

describe('where the lease of a name lies', () => {
  it('each unit that may mean something to a service is written in hex', () => {
    expect(blobNameOf('p/', 'Az09_-')).toBe('p/Az09_-');
    expect(blobNameOf('', 'a b\u00e9\n')).toBe('a~0020b~00e9~000a');
  });

  it('a name is hashed only when it would be too long', () => {
    expect(blobNameOf('p/', 'x'.repeat(256))).toBe(`p/${'x'.repeat(256)}`);
    const long = 'x'.repeat(257);
    expect(blobNameOf('p/', long)).toBe(`p/~sha256~${createHash('sha256').update(Buffer.from(long, 'utf16le')).digest('hex')}`);
  });
});
