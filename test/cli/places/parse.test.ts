/**
 * What a store's URL says, and what is said of one that says nothing.
 *
 * @module
 */
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shownPlace } from '../../../src/cli/places/open.ts';
import { parseStoreUrl } from '../../../src/cli/places/parse.ts';
import { UsageError } from '../../../src/cli/usage-error.ts';

const ENV = { XDG_STATE_HOME: '/state', RERUNSAFE_HOST_DIR: '/host' };
const where = (url: string): object => parseStoreUrl(url, ENV).where;

function refusal(url: string, env: NodeJS.ProcessEnv = ENV): UsageError {
  try {
    parseStoreUrl(url, env);
  } catch (error) {
    if (error instanceof UsageError) return error;
    throw error;
  }
  throw new Error(`${url} was not refused`);
}

describe('a store by its URL', () => {
  it('says where files lie: of the user, of the host, where a person wants them', () => {
    expect(where('sqlite:')).toEqual({ kind: 'sqlite', keeper: 'user', path: '/state/rerunsafe/records.db' });
    expect(where('sqlite:host')).toEqual({ kind: 'sqlite', keeper: 'host', path: '/host/records/records.db' });
    expect(where('sqlite:/a b/c#d/x.db')).toEqual({ kind: 'sqlite', keeper: 'own', path: '/a b/c#d/x.db' });
    expect(where('file:')).toEqual({ kind: 'file', keeper: 'user', directory: '/state/rerunsafe/leases', sharedWith: 'user' });
    expect(where('file:host')).toEqual({ kind: 'file', keeper: 'host', directory: '/host/leases', sharedWith: 'everyone' });
    expect(where('file:/locks')).toEqual({ kind: 'file', keeper: 'own', directory: '/locks', sharedWith: 'user' });
  });

  it('is handed on so that it means the same in every folder', () => {
    const { url } = parseStoreUrl('sqlite:relative.db', ENV);
    expect(url).toBe(`sqlite:${resolve('relative.db')}`);
    expect(parseStoreUrl(url, ENV).url).toBe(url);
    expect(parseStoreUrl('sqlite:/in/c#/x.db', ENV).url).toBe('sqlite:/in/c#/x.db');
  });

  it('leaves a query to the driver and takes its own parameters from the fragment', () => {
    expect(where('postgres://u:p@h:5/d?sslmode=require#table=t&schema=s')).toEqual({
      kind: 'postgres',
      connectionString: 'postgres://u:p@h:5/d?sslmode=require',
      tableName: 't',
      schema: 's',
    });
    expect(where('postgresql:#table=t')).toEqual({ kind: 'postgres', tableName: 't' });
    expect(where('postgres://u:p@/d?host=/run/postgresql')).toMatchObject({ connectionString: 'postgres://u:p@/d?host=/run/postgresql' });
    expect(where('rediss://u:p@h/2#prefix={a}:&accept-failover-loss')).toEqual({
      kind: 'redis',
      connectionUrl: 'rediss://u:p@h/2',
      prefix: '{a}:',
      acceptFailoverLoss: true,
    });
    expect(where('redis://h')).toMatchObject({ acceptFailoverLoss: false });
  });

  it('names tables, containers, regions and settings', () => {
    expect(where('dynamodb:rerunsafe')).toEqual({ kind: 'dynamodb', tableName: 'rerunsafe' });
    expect(where('dynamodb:t.t?region=eu-west-1&endpoint=http://127.0.0.1:8000')).toMatchObject({
      region: 'eu-west-1',
      endpoint: 'http://127.0.0.1:8000',
    });
    expect(where('azure-tables:')).toEqual({ kind: 'azure-tables' });
    expect(where('azure-tables:jobs?connection=Storage')).toEqual({ kind: 'azure-tables', tableName: 'jobs', connection: 'Storage' });
    expect(where('azure-blob:my-locks')).toEqual({ kind: 'azure-blob', containerName: 'my-locks' });
  });

  it.each([
    ['', /default/],
    ['jobs.db', /sqlite:\/path/],
    ['/var/jobs.db', /sqlite:\/path/],
    ['C:\\jobs.db', /sqlite:\/path/],
    ['sqlite', /write sqlite:/],
    ['SQLite:x', /write sqlite:/],
    ['memory:', /gone with this process/],
    ['sqlite::memory:', /gone with this process/],
    ['sqlite://x.db', /sqlite:\/absolute\/path.db/],
    ['sqlite:///x.db', /sqlite:\/absolute\/path.db/],
    ['sqlite:~/x.db', /\$HOME/],
    ['sqlite:/folder/', /name a file/],
    ['sqlite:/x.db?mode=ro', /no parameters/],
    ['sqlite:x\n.db', /line break/],
    ['file:locks', /absolute path/],
    ['file:///locks', /file:\/absolute/],
    ['postgre://h/d', /write postgres:/],
    ['postgres:mydb', /not complete/],
    ['postgres://a,b:1,c:2/d', /one host/],
    ['postgres://h/d#tabel=x', /parameters are table, schema/],
    ['postgres://h/d#table=', /table is empty/],
    ['postgres://h/d#table=a&table=b', /twice/],
    [`postgres://h/d#table=${'x'.repeat(41)}`, /1 to 40/],
    ['redis:', /not complete/],
    ['redis://h?prefix=x', /behind a #/],
    ['redis://h/jobs', /number of a database/],
    ['redis://h#accept-failover-loss=no', /takes no value/],
    ['dynamo:x', /write dynamodb:/],
    ['dynamodb:', /dynamodb:TABLE/],
    ['dynamodb://x', /dynamodb:TABLE/],
    ['dynamodb:a b', /3 to 255/],
    ['dynamodb:jobs?table=x', /region, endpoint/],
    ['dynamodb:jobs?region=Ireland', /eu-west-1/],
    ['dynamodb:jobs?endpoint=localhost:8000', /http:\/\//],
    ['dynamodb:jobs#region=eu-west-1', /question mark/],
    ['azure-table:x', /write azure-tables:/],
    ['azure-tables:my-jobs', /letters and digits/],
    ['azure-blob:Locks', /small letters/],
    ['mongodb://h', /no kind of store/],
  ])('is refused with a sentence that says what to write: %s', (url, said) => {
    const error = refusal(url);
    expect(error.message).toMatch(said);
    expect(error.exitCode).toBe(64);
  });

  it.each([
    'postgres://u:HUNTER2/x@h/d',
    'postgres://u:1/HUNTER2@h/d',
    'postgres://u:1?HUNTER2@h/d',
    'postgres://u:1#HUNTER2@h/d',
    'postgres://u:a#HUNTER2=1',
    'postgres://u:%HUNTER2@h/d',
    'postgres:u:HUNTER2@h',
    'redis://u:1?HUNTER2@h',
    'redis://u:1/HUNTER2@h',
    'redis://h/HUNTER2',
    'redis://h#HUNTER2',
    'dynamodb:jobs?accessKeyId=HUNTER2',
    'dynamodb:jobs?endpoint=http://u:HUNTER2@h',
    'dynamodb:jobs?region=HUNTER2',
    'azure-tables:DefaultEndpointsProtocol=https;AccountKey=HUNTER2',
    'azure-tables:?connection=DefaultEndpointsProtocol=https;AccountKey=HUNTER2',
    'azure-blob:?connection=AccountName=a;AccountKey=HUNTER2',
    'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=HUNTER2',
    'u:HUNTER2@h',
    'HUNTER2:x',
    'mysql://u:HUNTER2@h/d',
    'sqlite://u:HUNTER2@h',
    'file://u:HUNTER2@h',
  ])('is refused without a word of its secret: %s', (url) => {
    expect(refusal(url).message).not.toContain('HUNTER2');
  });

  it.each([
    ['postgres://u:HUNTER2@h/d?password=HUNTER2#table=t', 'postgres://u:***@h/d?…#table=t'],
    ['redis://:HUNTER2@h:6379/1', 'redis://:***@h:6379/1'],
    ['redis://HUNTER2@h', 'redis://***@h'],
    ['postgres://u:HUNTER2@/d', 'postgres://u:***@/d'],
    ['rediss://u:HUNTER2@h#prefix=p', 'rediss://u:***@h#prefix=p'],
    ['dynamodb:jobs?region=eu-west-1', 'dynamodb:jobs?region=eu-west-1'],
  ])('is shown without its secret: %s', (url, shown) => {
    expect(shownPlace(url)).toBe(shown);
  });

  it('refuses a state folder that would be another one in each working directory', () => {
    expect(refusal('sqlite:', { XDG_STATE_HOME: 'state' })).toMatchObject({ exitCode: 78, message: expect.stringContaining('absolute') });
    expect(refusal('sqlite:host', { RERUNSAFE_HOST_DIR: 'host' })).toMatchObject({ exitCode: 78 });
  });
});
