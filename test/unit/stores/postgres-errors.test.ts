import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { isConnectionLost, isServerFull, mapError, sqlStateOf } from '../../../src/stores/postgres/map-error.ts';
import { freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { postgresAvailable } from '../../support/postgres.ts';
import { postgresStage } from './postgres-subject.ts';

const state = (code: string, message = 'as the server says'): Error => Object.assign(new Error(message), { code });

describe('what a failure of PostgreSQL means', () => {
  it.each([
    // [error, of a read or before anything was sent, of a write]
    [state('53300', 'sorry, too many clients already'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('08P01', 'no more connections allowed (max_client_conn)'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('08P01', 'query_wait_timeout'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [new Error('timeout exceeded when trying to connect'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('57P03', 'the database system is starting up'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('57P01', 'terminating connection due to administrator command'), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN'],
    [state('08006', 'server conn crashed?'), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN'],
    [state('ECONNREFUSED'), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN'],
    [state('EPIPE'), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN'],
    [new Error('Connection terminated unexpectedly'), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN'],
    [new Error('Client has encountered a connection error and is not queryable'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('55P03'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('57014'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('40001'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('53100', 'could not extend file: No space left on device'), 'STORE_UNAVAILABLE', 'STORE_UNAVAILABLE'],
    [state('XX000'), 'STORE_UNAVAILABLE', 'WRITE_UNKNOWN'],
    [state('42P01'), 'STORE_MISCONFIGURED', 'STORE_MISCONFIGURED'],
    [state('42703'), 'STORE_MISCONFIGURED', 'STORE_MISCONFIGURED'],
    [state('42501'), 'STORE_MISCONFIGURED', 'STORE_MISCONFIGURED'],
    [state('28P01'), 'STORE_MISCONFIGURED', 'STORE_MISCONFIGURED'],
    [state('25006'), 'STORE_MISCONFIGURED', 'STORE_MISCONFIGURED'],
    [new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'), 'STORE_MISCONFIGURED', 'WRITE_UNKNOWN'],
  ])('%s', (error, notSent, sent) => {
    expect(mapError(error, 'create', false)).toMatchObject({ code: notSent, cause: error });
    expect(mapError(error, 'create', true)).toMatchObject({ code: sent, cause: error });
  });

  it('what a network says is no SQLSTATE, though it may have five letters too', () => {
    expect(sqlStateOf(state('EPIPE'))).toBeUndefined();
    expect(sqlStateOf(state('42P01'))).toBe('42P01');
    expect(sqlStateOf(undefined)).toBeUndefined();
    expect(isConnectionLost(state('42P01'))).toBe(false);
    expect(isServerFull(state('57P03'))).toBe(false);
  });

  it('an error of ours goes through as it is', () => {
    const ours = mapError(state('42P01'), 'read', false);
    expect(mapError(ours, 'setUp', true)).toBe(ours);
  });
});

describe.runIf(await postgresAvailable())('postgresStore, on a server that refuses', () => {
  // Three of them are kept for superusers.
  const stage = postgresStage({ settings: { max_connections: 12 } });
  const at = (change: (url: URL) => void): string => {
    const url = new URL(stage.database.url);
    change(url);
    return url.href;
  };

  it('a server that is full is told apart from one that is down, and both pass', async () => {
    const store = await stage.fresh({ connectionString: stage.database.url, maxConnections: 1 });
    await store.close();
    const crowd: Client[] = [];
    for (let full = false; !full; ) {
      const one = new Client({ connectionString: stage.server.url });
      one.on('error', () => {});
      await one.connect().then(
        () => crowd.push(one),
        () => {
          full = true;
        },
      );
    }
    const refusal = { code: 'STORE_UNAVAILABLE', retryable: true, message: expect.stringMatching(/full.*max_connections/) };
    await expect(store.read(freshId())).rejects.toMatchObject(refusal);
    await expect(store.create(freshId(), sample())).rejects.toMatchObject(refusal);
    await Promise.all(crowd.map((one) => one.end()));
    await expect.poll(() => store.read(freshId()).catch(() => 'full')).toBeUndefined();

    const down = stage.another({ connectionString: at((url) => Object.assign(url, { port: '1' })) });
    const isDown = { code: 'STORE_UNAVAILABLE', message: expect.stringMatching(/^(?!.*full).*ECONNREFUSED/) };
    await expect(down.create(freshId(), sample())).rejects.toMatchObject(isDown);
  });

  it('a pool whose connections are all in use is full too: nothing was sent, and the wait has an end', async () => {
    const pool = stage.database.pool(1);
    const store = await stage.fresh({ pool, requestTimeoutMs: 300, lockTimeoutMs: 100 });
    const taken = await pool.connect();
    const since = performance.now();
    await expect(store.create(freshId(), sample())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message: expect.stringContaining('in use') });
    expect(performance.now() - since).toBeLessThan(2_000);
    taken.release();
    // The connection that it would have got went back.
    await put(store, freshId(), sample());
    expect([pool.totalCount, pool.idleCount, pool.waitingCount]).toEqual([1, 1, 0]);
  });

  it.each([
    ['a table that is not there', () => stage.another(), /setUp\(\)/],
    ['a database that is not there', () => stage.another({ connectionString: at((url) => Object.assign(url, { pathname: '/nowhere' })) }), /3D000/],
    ['a role that is not there', () => stage.another({ connectionString: at((url) => Object.assign(url, { username: 'nobody' })) }), /28000/],
  ])('%s wants a person', async (_, store, message) => {
    const misconfigured = { code: 'STORE_MISCONFIGURED', retryable: false, message: expect.stringMatching(message) };
    await expect(store().read(freshId())).rejects.toMatchObject(misconfigured);
    await expect(store().create(freshId(), sample())).rejects.toMatchObject(misconfigured);
    await expect(async () => {
      for await (const _ of store().list({})) break;
    }).rejects.toMatchObject(misconfigured);
  });

  it('a table that lacks a column, a role without rights and a standby each say what they are', async () => {
    await stage.fresh();
    await stage.pool.query('ALTER TABLE rerunsafe DROP COLUMN slot');
    await expect(stage.another().create(freshId(), sample())).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('setUp()'),
    });
    await stage.pool.query('ALTER TABLE rerunsafe ADD COLUMN slot int8');

    await stage.pool.query('CREATE ROLE onlooker LOGIN');
    const onlooker = stage.another({ connectionString: at((url) => Object.assign(url, { username: 'onlooker' })) });
    await expect(onlooker.read(freshId())).rejects.toMatchObject({ code: 'STORE_MISCONFIGURED', message: expect.stringContaining('USAGE') });
    await onlooker.close();
    await stage.pool.query('DROP ROLE onlooker');

    const standby = stage.another({}, { options: '-c default_transaction_read_only=on' });
    await standby.read(freshId());
    await expect(standby.create(freshId(), sample())).rejects.toMatchObject({
      code: 'STORE_MISCONFIGURED',
      message: expect.stringContaining('primary'),
    });
  });

  it('a statement that the server ends by a limit of its own did not happen', async () => {
    const store = await stage.fresh({}, { statement_timeout: 200 });
    const id = freshId();
    const stranger = await stage.client();
    await stranger.query('BEGIN; LOCK TABLE rerunsafe');
    await expect(store.create(id, sample())).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('statement_timeout'),
    });
    await stranger.query('ROLLBACK');
    expect(await store.read(id)).toBeUndefined();
  });
});
