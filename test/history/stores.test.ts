import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import type { RecordStore } from '../../src/core/ports.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { faultyStore, type StoreFault } from '../../src/testing/index.ts';
import { byLength } from '../support/long.ts';
import { databaseFolder } from '../support/sqlite-file.ts';
import { memory, sqlite } from '../support/stores.ts';
import { fileHistory, readHistory } from './log.ts';
import { noted } from './record-store.ts';
import type { Delivery } from './register.ts';
import { type Judged, judgeTraffic } from './register-clients.ts';
import type { SqliteClient } from './sqlite-client.ts';
import { CLIENTS, expectRight, KEYS, keysOf, ROUNDS, roundOf, SEED } from './traffic.ts';
import { STORES_THAT_ARE_WRONG } from './wrong-stores.ts';

const COMMAND = 'vitest run test/history/stores.test.ts';
const AT_ONCE: Delivery = { sent: 'once', showsAtOnce: true };
const FAULTS: readonly StoreFault[] = ['lost-answer', 'lost-request', 'unavailable', { delayMs: 5 }, { landsAfterMs: 8 }, 'hang', 'hang-applied'];
const FAULT_SHARE = 0.1;
const HANGS_MS = 20;

/** As over a wire: every call takes a moment, some are lost or late. Whatever hangs is given up. */
function disturbed(store: RecordStore, random: () => number): RecordStore {
  const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, random() * 2));
  const choose = (): StoreFault | undefined => (random() < FAULT_SHARE ? FAULTS[Math.floor(random() * FAULTS.length)] : undefined);
  const faulty = faultyStore(store, { read: choose, create: choose, replace: choose, delete: choose, before: moment, after: moment });
  const limited = (options?: { signal?: AbortSignal }) => ({ signal: options?.signal ?? AbortSignal.timeout(HANGS_MS) });
  return {
    ...faulty,
    read: (id, options) => faulty.read(id, limited(options)),
    create: (id, record, options) => faulty.create(id, record, limited(options)),
    replace: (id, record, version, options) => faulty.replace(id, record, version, limited(options)),
    delete: (id, version, options) => faulty.delete(id, version, limited(options)),
  };
}

describe(`${CLIENTS} clients on ${KEYS} rows, some of whose answers never come`, () => {
  it.concurrent.each([memory, sqlite])('I1 I4 I7 I8 have answers that one order of all writes explains: $name', async (kind) => {
    const { store, stop } = await kind.start();
    const judged: Judged[] = [];
    for (let round = 0; round < ROUNDS * 3; round += 1) judged.push(await roundOf((random) => disturbed(store, random), AT_ONCE, round));
    await stop();
    expectRight(kind.name, judged, COMMAND);
  });

  it.concurrent.each(Object.entries(STORES_THAT_ARE_WRONG))('I1 I8 control: a store is found out where %s', async (_, wrong) => {
    let found = 0;
    for (let round = 0; round < 20 && found === 0; round += 1) {
      const store = memoryStore();
      found = (await roundOf((random) => disturbed(wrong(store, random), random), AT_ONCE, round)).wrong.length;
    }
    expect(found).toBeGreaterThan(0);
  });
});

const PROCESSES = 4;
/** From the first event on. */
const LATEST_KILL_MS = 40;
const CALLS = 60;
/** Until it is killed: no more than it does by then. */
const ENDLESS = 200;
const FILES = byLength(1, 1, 30);
const SCRIPT = fileURLToPath(new URL('sqlite-client.ts', import.meta.url));

describe(`${PROCESSES} processes on ${KEYS} rows of a database file`, () => {
  const children = new Set<ChildProcess>();
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  function start(client: SqliteClient): { child: ChildProcess; ended: Promise<NodeJS.Signals | null> } {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', SCRIPT, JSON.stringify(client)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.add(child);
    const ended = once(child, 'close').then(([code, signal]) => {
      children.delete(child);
      if (code !== 0 && signal !== 'SIGKILL') throw new Error(`${client.caller} ended with ${code ?? signal}`);
      return signal as NodeJS.Signals | null;
    });
    return { child, ended };
  }

  it(
    'I1 I3 I4 I8 I10 have answers that one order of all writes explains, when half of them are killed at any moment',
    async () => {
      const judged: Judged[] = [];
      let kills = 0;
      for (let file = 0; file < FILES; file += 1) {
        const folder = await databaseFolder();
        const store = sqliteStore({ path: folder.path });
        await store.setUp();
        const history = join(dirname(folder.path), 'history');
        const keys = keysOf(file);
        const running = Array.from({ length: PROCESSES }, (_, n) =>
          start({
            path: folder.path,
            history,
            caller: `process ${n}`,
            keys,
            operations: n < PROCESSES / 2 ? ENDLESS : CALLS,
            seed: SEED + file * PROCESSES + n,
          }),
        );
        const victims = running.slice(0, PROCESSES / 2);
        const over = Promise.all(running.map(({ ended }) => ended));
        while (!hasBegun(history, victims.length) && (await Promise.race([over, pause(2)])) === undefined);
        await Promise.all(
          victims.map(async ({ child }, n) => {
            await pause(((SEED >>> (n * 6)) % 64) * (LATEST_KILL_MS / 64));
            child.kill('SIGKILL');
          }),
        );
        kills += (await over).filter((signal) => signal === 'SIGKILL').length;
        const last = fileHistory(history);
        for (const key of keys) await noted(store, last, 'the last').read(key);
        last.close();
        await store.close();
        const { events, torn } = readHistory(history);
        expect(torn.length).toBeLessThanOrEqual(victims.length);
        judged.push(judgeTraffic(events, keys, AT_ONCE));
        await folder.remove();
      }
      // Whether a kill leaves a doubt is up to its moment.
      expectRight(`SQLite in processes, ${kills} killed`, judged, COMMAND, false);
      expect(kills).toBeGreaterThan(0);
    },
    byLength(30_000, 30_000, 300_000),
  );
});

/** That many processes at least are at work. */
function hasBegun(history: string, callers: number): boolean {
  try {
    return new Set(readHistory(history).events.map(({ caller }) => caller)).size >= callers;
  } catch {
    return false;
  }
}
