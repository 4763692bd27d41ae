import { readdir, readlink } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type SqliteStoreOptions, sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { completed, freshId, put, sample } from '../../../src/testing/record-store/subject.ts';
import { all, sqliteStage } from './sqlite-subject.ts';

describe('sqliteStore, while others have the file locked', () => {
  const stage = sqliteStage();

  const locked = async (options: Partial<SqliteStoreOptions> = {}) => {
    const store = await stage.fresh(options);
    const standing = freshId();
    const { version } = await put(store, standing, completed());
    const other = stage.connection();
    other.exec('BEGIN IMMEDIATE');
    return { store, standing, version, other };
  };

  it('a write waits for the lock, and the event loop goes on meanwhile', async () => {
    const { store, standing, version, other } = await locked();
    let ticks = 0;
    const ticking = setInterval(() => {
      ticks += 1;
      if (ticks === 30) other.exec('ROLLBACK');
    }, 5);
    const result = await store.replace(standing, sample(), version);
    clearInterval(ticking);
    expect(result).toMatchObject({ ok: true });
    expect(ticks).toBeGreaterThanOrEqual(30);
  });

  it('I8 no lock in time is STORE_UNAVAILABLE, retryable, and nothing was written, then or later', async () => {
    const { store, standing, version, other } = await locked({ busyTimeoutMs: 60 });
    const id = freshId();
    const unavailable = { code: 'STORE_UNAVAILABLE', retryable: true, cause: expect.objectContaining({ code: 'ERR_SQLITE_ERROR' }) };
    await expect(store.create(id, sample())).rejects.toMatchObject(unavailable);
    await expect(store.replace(standing, sample(), version)).rejects.toMatchObject(unavailable);
    await expect(store.delete(standing, version)).rejects.toMatchObject(unavailable);
    other.exec('ROLLBACK');
    expect(await store.read(id)).toBeUndefined();
    expect((await store.read(standing))?.version).toBe(version);
  });

  it('I11 a replay waits for nobody: what stands is read, and refused, beside the lock', async () => {
    const { store, standing, version } = await locked({ busyTimeoutMs: 0 });
    expect(await store.create(standing, sample())).toMatchObject({ ok: false, current: { version } });
    expect(await store.read(standing)).toMatchObject({ version });
    expect(await all(store)).toHaveLength(1);
  });

  it('I12 a signal ends the wait at once, and the write never happens', async () => {
    const { store, standing, version, other } = await locked();
    const controller = new AbortController();
    const writing = store.replace(standing, sample(), version, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('gone')), 20);
    const startedAtMs = performance.now();
    await expect(writing).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', cause: { message: 'gone' } });
    expect(performance.now() - startedAtMs).toBeLessThan(3_000);
    other.exec('ROLLBACK');
    expect((await store.read(standing))?.version).toBe(version);
  });

  it('I3 a transaction that the caller has open on its own connection is never joined: its rollback takes nothing of ours', async () => {
    await stage.fresh();
    const own = stage.connection();
    const store = sqliteStore({ database: own, busyTimeoutMs: 30 });
    const id = freshId();
    own.exec('BEGIN');
    await expect(store.create(id, sample())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    const patient = sqliteStore({ database: own });
    const creating = patient.create(id, sample());
    await new Promise((resolve) => setTimeout(resolve, 20));
    own.exec('ROLLBACK');
    expect(await creating).toMatchObject({ ok: true });
    expect(await stage.another().read(id)).toBeDefined();
  });

  it('I12 close waits for the calls under way, leaves no file open, and a later call opens it again', async () => {
    const { store, standing, version, other } = await locked();
    const writing = store.replace(standing, sample(), version);
    const closing = store.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    other.exec('ROLLBACK');
    other.close();
    await closing;
    expect(await writing).toMatchObject({ ok: true });
    expect(await openFiles(stage.path)).toEqual([]);
    expect(await store.read(standing)).toBeDefined();
  });
});

describe('sqliteStore, with many callers in one process', () => {
  const stage = sqliteStage();

  it('I10 timers run between calls, however long a loop of writes or of replays goes on', async () => {
    const store = await stage.fresh();
    const standing = freshId();
    await put(store, standing, completed());
    const loops = [() => store.create(freshId(), sample()), () => store.create(standing, sample())];
    for (const call of loops) {
      let late = 0;
      const timer = setInterval(() => {
        late += 1;
      }, 1);
      const endsAtMs = performance.now() + 100;
      while (performance.now() < endsAtMs) await call();
      clearInterval(timer);
      expect(late).toBeGreaterThan(5);
    }
  });

  it('they do not lock each other out, not even where nobody may wait for a lock', async () => {
    const store = await stage.fresh({ busyTimeoutMs: 0 });
    const results = await Promise.all(Array.from({ length: 64 }, () => store.create(freshId(), sample())));
    expect(results.every(({ ok }) => ok)).toBe(true);
  });

  it('those who wait for the lock of another process are served in the order in which they came, but for who has gone; reading waits for none of them', async () => {
    const store = await stage.fresh();
    const other = stage.connection();
    other.exec('BEGIN IMMEDIATE');
    const served: number[] = [];
    const leaving = new AbortController();
    const writing = Array.from({ length: 12 }, (_, n) =>
      store.create(`${n}`, sample(), n === 0 || n === 5 ? { signal: leaving.signal } : {}).then(
        () => served.push(n),
        () => 'gone',
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 30));
    const askedAtMs = performance.now();
    expect(await store.read('0')).toBeUndefined();
    expect(performance.now() - askedAtMs).toBeLessThan(2_000);
    leaving.abort();
    expect(await Promise.all([writing[0], writing[5]])).toEqual(['gone', 'gone']);
    other.exec('ROLLBACK');
    await Promise.all(writing);
    expect(served).toEqual([1, 2, 3, 4, 6, 7, 8, 9, 10, 11]);
    expect(await all(store)).toHaveLength(10);
  });

  it('only one of them asks for the lock: hundreds that ask would leave the process no time for anything else', async () => {
    await stage.fresh();
    const own = stage.connection();
    const exec = own.exec.bind(own);
    let asked = 0;
    own.exec = (sql) => {
      if (sql === 'BEGIN IMMEDIATE') asked += 1;
      exec(sql);
    };
    const store = sqliteStore({ database: own });
    const other = stage.connection();
    other.exec('BEGIN IMMEDIATE');
    const writing = Array.from({ length: 200 }, () => store.create(freshId(), sample()));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(asked).toBeGreaterThan(1);
    expect(asked).toBeLessThan(200);
    other.exec('ROLLBACK');
    await Promise.all(writing);
    expect(asked).toBeLessThan(600);
  });

  it('I8 all of them give up when the lock does not come, each within its time', async () => {
    const store = await stage.fresh({ busyTimeoutMs: 100 });
    stage.connection().exec('BEGIN IMMEDIATE');
    const startedAtMs = performance.now();
    const results = await Promise.allSettled(Array.from({ length: 64 }, () => store.create(freshId(), sample())));
    expect(results.every((result) => result.status === 'rejected' && result.reason.code === 'STORE_UNAVAILABLE')).toBe(true);
    expect(performance.now() - startedAtMs).toBeLessThan(3_000);
  });
});

async function openFiles(path: string): Promise<string[]> {
  const names: string[] = [];
  for (const descriptor of await readdir('/proc/self/fd')) {
    const name = await readlink(`/proc/self/fd/${descriptor}`).catch(() => '');
    if (name.startsWith(path)) names.push(name);
  }
  return names;
}
