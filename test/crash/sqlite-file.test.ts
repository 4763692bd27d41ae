import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PlainStore } from '../../src/core/ports.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { sample } from '../../src/testing/record-store/subject.ts';
import { until } from '../support/promises-case.ts';
import { type DatabaseFolder, databaseFolder } from '../support/sqlite-file.ts';
import type { SqliteTask } from './sqlite-task.ts';

const SCRIPT = fileURLToPath(new URL('sqlite-worker.ts', import.meta.url));
const PROCESSES = 8;
const ADDITIONS = 150;
const KILLS = 8;
/** In blocks of 512 bytes: what the log may grow to before the disk seems full. */
const FILE_LIMIT_BLOCKS = 1_000;

type Line = Readonly<Record<string, unknown>>;

interface Started {
  readonly child: ChildProcess;
  /** All it said; a line that was cut by its death is left out. */
  lines(): Line[];
  ended(): Promise<void>;
}

describe('a database file and processes that die', () => {
  let folder: DatabaseFolder;
  let store: PlainStore;
  const children = new Set<ChildProcess>();

  beforeEach(async () => {
    folder = await databaseFolder();
    store = sqliteStore({ path: folder.path });
    await store.setUp();
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    children.clear();
    await store.close();
    await folder.remove();
  });

  function start(task: SqliteTask, limit = ''): Started {
    const argument = JSON.stringify([folder.path, task]);
    const child = spawn('sh', ['-c', `${limit} exec "$0" --disable-warning=ExperimentalWarning "$@"`, process.execPath, SCRIPT, argument], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.add(child);
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const closed = once(child, 'close');
    return {
      child,
      lines: () =>
        said
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as Line),
      ended: async () => {
        await closed;
        children.delete(child);
      },
    };
  }

  /** By a connection that comes to the file anew, as the next process would. */
  function look<T>(body: (database: DatabaseSync) => T): T {
    const database = new DatabaseSync(folder.path);
    try {
      return body(database);
    } finally {
      database.close();
    }
  }
  const isSound = (): unknown => look((database) => database.prepare('PRAGMA integrity_check').get()?.integrity_check);
  const ids = (): Set<unknown> =>
    look(
      (database) =>
        new Set(
          database
            .prepare('SELECT id FROM rerunsafe')
            .all()
            .map(({ id }) => id),
        ),
    );

  it(`I1 ${PROCESSES} processes add ${ADDITIONS} times each to one record without a pause: no addition is lost, and none hears that the file is locked`, async () => {
    const id = randomUUID();
    const running = Array.from({ length: PROCESSES }, () => start({ do: 'add', id, times: ADDITIONS }));
    await until('all have started', () => running.every((one) => one.lines().length === 1));
    await store.create(id, sample({ attempt: 0 }));
    await Promise.all(running.map((one) => one.ended()));
    const reports = running.flatMap((one) => one.lines().slice(1));
    expect(reports.map(({ failed }) => failed)).toEqual(Array.from({ length: PROCESSES }, () => []));
    expect((await store.read(id))?.record.attempt).toBe(PROCESSES * ADDITIONS);
    // Without a single lost race they would have worked one after the other.
    expect(reports.reduce((sum, { lost }) => sum + Number(lost), 0)).toBeGreaterThan(0);
  }, 60_000);

  it(`I3 what was answered is there after a kill -9 at any moment, ${KILLS} times over`, async () => {
    const answered: unknown[] = [];
    for (let n = 0; n < KILLS; n++) {
      const writer = start({ do: 'keep writing' });
      await once(writer.child.stdout as NodeJS.ReadableStream, 'data');
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 60));
      writer.child.kill('SIGKILL');
      await writer.ended();
      answered.push(...writer.lines().map(({ written }) => written));
    }
    const standing = ids();
    expect(answered.length).toBeGreaterThan(KILLS);
    expect(answered.filter((id) => !standing.has(id))).toEqual([]);
    // The one more that a kill may leave: committed, and never answered.
    expect(standing.size - answered.length).toBeLessThanOrEqual(KILLS);
    expect(isSound()).toBe('ok');
  }, 60_000);

  // BEGIN, SELECT, ROLLBACK of the look before; BEGIN, INSERT, COMMIT.
  const CREATE_STATEMENTS = 6;
  const REPLACE_STATEMENTS = 3;
  it.each([
    ...Array.from({ length: CREATE_STATEMENTS + 1 }, (_, n) => ['create', n, CREATE_STATEMENTS] as const),
    ...Array.from({ length: REPLACE_STATEMENTS + 1 }, (_, n) => ['replace', n, REPLACE_STATEMENTS] as const),
  ])(
    'I10 a %s that is killed after %i of its %i statements is done or not done, and the next caller waits for nothing',
    async (transition, n, all) => {
      const id = randomUUID();
      const before = sample({ attempt: 1 });
      if (transition === 'replace') await store.create(id, before);
      const dying = start({ do: 'die inside', transition, id, afterStatements: n });
      await dying.ended();
      expect(dying.child.signalCode).toBe('SIGKILL');
      const standing = await store.read(id);
      const untouched = transition === 'create' ? undefined : 1;
      expect(standing?.record.attempt).toBe(n < all ? untouched : 2);
      const impatient = sqliteStore({ path: folder.path, busyTimeoutMs: 0 });
      const next = standing === undefined ? impatient.create(id, before) : impatient.replace(id, sample(), standing.version);
      expect(await next).toMatchObject({ ok: true });
      await impatient.close();
      expect(isSound()).toBe('ok');
    },
  );

  it('I8 I3 a log that the disk does not take any more: the commit is in doubt and said to be, and what was answered before is there', async () => {
    const writer = start({ do: 'keep writing' }, `ulimit -f ${FILE_LIMIT_BLOCKS};`);
    await writer.ended();
    const lines = writer.lines();
    const last = lines.at(-1);
    expect(last).toMatchObject({ failed: 'WRITE_UNKNOWN' });
    expect(lines.length).toBeGreaterThan(10);
    const standing = ids();
    expect(lines.slice(0, -1).filter(({ written }) => !standing.has(written))).toEqual([]);
    expect(isSound()).toBe('ok');
    expect(await store.create(randomUUID(), sample())).toMatchObject({ ok: true });
  });

  it('I12 a store that was never closed does not keep its process alive', async () => {
    const process = start({ do: 'leave open' });
    await process.ended();
    expect(process.lines()).toEqual([{ written: true }]);
    expect(process.child.exitCode).toBe(0);
    expect(ids().size).toBe(1);
  });
});
