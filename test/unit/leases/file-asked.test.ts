import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { storeUnavailable } from '../../../src/core/errors.ts';
import { fileNameOf } from '../../../src/leases/file/file-name.ts';
import { codeOf, toError } from '../../../src/leases/file/map-error.ts';
import { checkFileLeasesOptions, checkRequest, MAX_LEASE_MS, MIN_LEASE_MS } from '../../../src/leases/file/options.ts';
import { networkFileSystem } from '../../../src/leases/file/place.ts';

const said = (body: () => unknown): string | undefined => {
  try {
    body();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
};

describe('the options of fileLeases', () => {
  const PLACE = "must be 'host' or an absolute path: two processes that start in different folders would not keep out each other";

  it.each([['/a'], ['host']])('%s is a place', (directory) => {
    expect(said(() => checkFileLeasesOptions({ directory }))).toBeUndefined();
  });

  it.each([['a'], ['./a'], [''], ['/a\0b'], [7], ['HOST']])('I6 %j is none', (directory) => {
    expect(said(() => checkFileLeasesOptions({ directory }))).toBe(`fileLeases: directory ${PLACE}.`);
  });

  it('who shares it, and nothing else', () => {
    for (const sharedWith of ['user', 'group', 'everyone'])
      expect(said(() => checkFileLeasesOptions({ directory: '/a', sharedWith }))).toBeUndefined();
    expect(said(() => checkFileLeasesOptions({ directory: '/a', sharedWith: '' }))).toBe(
      "fileLeases: sharedWith must be 'user' or 'group' or 'everyone'.",
    );
    expect(said(() => checkFileLeasesOptions({}))).toBe('fileLeases: directory is missing.');
    expect(said(() => checkFileLeasesOptions({ directory: '/a', path: '/b' }))).toBe(
      'fileLeases: path is not an option. The options are directory, sharedWith.',
    );
  });
});

describe('what is asked of a file lease', () => {
  const HALF = Math.floor(Number.MAX_SAFE_INTEGER / 2);
  const table: [name: string, good: unknown[], bad: unknown[], words: string][] = [
    ['name', ['n', '\u0000', 'n'.repeat(512)], ['', 'n'.repeat(513), 7, undefined], 'must be a string of 1 to 512 characters'],
    ['owner', ['o', 'o'.repeat(256)], ['', 'o'.repeat(257), 7, undefined], 'must be a string of 1 to 256 characters'],
    ['token', [0, 7], [-1, 1.5, '7', undefined], 'must be a whole number, at least 0'],
    [
      'leaseMs',
      [MIN_LEASE_MS, 100.5, MAX_LEASE_MS],
      [99, MAX_LEASE_MS + 1, '100', Number.NaN, undefined],
      `must be from ${MIN_LEASE_MS} to ${MAX_LEASE_MS} ms`,
    ],
    ['label', ['', 'l', undefined], [7, null], 'must be a string'],
    ['slot', [0, 7, undefined], [-1, 1.5], 'must be a whole number, at least 0'],
    ['slotDone', [0, 7, undefined], [-1, 1.5], 'must be a whole number, at least 0'],
    ['holdMs', [0, 0.5, HALF, undefined], [-0.5, HALF + 1, '0'], `must be from 0 to ${HALF} ms`],
  ];

  it.each(table)('%s', (name, good, bad, words) => {
    for (const value of good)
      expect(
        said(() => checkRequest({ [name]: value })),
        String(value),
      ).toBeUndefined();
    for (const value of bad)
      expect(
        said(() => checkRequest({ [name]: value })),
        String(value),
      ).toBe(`a file lease: ${name} ${words}.`);
  });

  it('all that is wrong is said at once, and what is not known here is left alone', () => {
    expect(said(() => checkRequest({ token: -1, more: 5, slot: -1 }))).toBe(
      'a file lease: token must be a whole number, at least 0; slot must be a whole number, at least 0.',
    );
    expect(said(() => checkRequest({ more: 5 }))).toBeUndefined();
  });
});

describe('what the file system says', () => {
  const failed = (code: string, path?: string) => Object.assign(new Error(`${code}: x`), { code, ...(path === undefined ? {} : { path }) });
  const SET_UP = 'The store cannot be used as it is set up: ';

  it.each([
    ['ENOENT', ' The directory does not exist. Call setUp() once, or make it when you deploy.'],
    ['EACCES', ' This user may not use it: an administrator has to make it, or see the option sharedWith.'],
    ['EPERM', ' This user may not do that.'],
    ['ELOOP', ' It is a symbolic link, which is not followed.'],
    ['ENOLCK', ' The file system has no locks. It must be a local one.'],
    ...['EISDIR', 'ENAMETOOLONG', 'ENODEV', 'ENOSYS', 'ENOTDIR', 'ENOTSUP', 'ENXIO', 'EOPNOTSUPP', 'EROFS'].map((code) => [code, '']),
  ])('I8 %s wants a person, in doubt or not, and says what for', (code = '', hint = '') => {
    for (const doubt of [true, false]) {
      const error = failed(code);
      expect(toError('look', error, doubt)).toMatchObject({ code: 'STORE_MISCONFIGURED', message: `${SET_UP}look: ${code}.${hint}`, cause: error });
      expect(toError('look', failed(code, '/a'), doubt).message).toBe(`${SET_UP}look: ${code} at /a.${hint}`);
    }
  });

  it.each([['ENOSPC'], ['EIO'], ['EMFILE'], ['']])('I8 %j may pass: doubt where a write was under way', (code) => {
    const error = failed(code, '/a');
    expect(toError('look', error)).toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining(`(look: ${code}: x)`), cause: error });
    expect(toError('look', error, true)).toMatchObject({ code: 'WRITE_UNKNOWN', message: expect.stringContaining('(look)'), cause: error });
  });

  it('I8 what is thrown may be anything, and one of ours stays as it is', () => {
    const own = storeUnavailable('x', undefined);
    expect(toError('look', own, true)).toBe(own);
    for (const thrown of [undefined, 'x', new Error('x')])
      expect(toError('look', thrown)).toMatchObject({ code: 'STORE_UNAVAILABLE', cause: thrown });
    expect([codeOf(failed('EIO')), codeOf(undefined), codeOf(new Error('x'))]).toEqual(['EIO', undefined, undefined]);
  });
});

describe('names and places, to the character', () => {
  it('what is plain of a name stands in front, at most 40 characters of it', () => {
    const hash = (name: string): string => createHash('sha256').update(Buffer.from(name, 'utf16le')).digest('hex');
    const table = {
      'Nightly  Report!': 'nightly-report-',
      '--a--': 'a-',
      '!!': '',
      '': '',
      ['x'.repeat(50)]: `${'x'.repeat(40)}-`,
      [`${'x'.repeat(39)} y`]: `${'x'.repeat(39)}-`,
      äb9: 'b9-',
    };
    for (const [name, front] of Object.entries(table)) expect(fileNameOf(name)).toBe(`${front}${hash(name)}.lease`);
  });

  it('I6 each of the network file systems', () => {
    const known = {
      26985: 'NFS',
      20859: 'SMB',
      4283649346: 'SMB (CIFS)',
      4266872130: 'SMB 2',
      1397113167: 'AFS',
      12805120: 'Ceph',
      198183888: 'Lustre',
    };
    for (const [type, name] of Object.entries(known)) expect(networkFileSystem(Number(type))).toBe(name);
  });
});
