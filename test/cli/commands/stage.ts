/**
 * A place with a clock of its own, the standings that records can be in, each brought about by the engine, and what a command prints.
 *
 * @module
 */
import { Writable } from 'node:stream';
import { afterAll, beforeAll } from 'vitest';
import { makeOut, type Screen } from '../../../src/cli/output.ts';
import type { OpenPlace } from '../../../src/cli/places/open.ts';
import type { GuardOptions } from '../../../src/core/guard.ts';
import { recordId } from '../../../src/core/key.ts';
import type { RecordStore } from '../../../src/core/ports.ts';
import type { RecordId } from '../../../src/core/record.ts';
import { tryRunOnce, type Work } from '../../../src/core/run-once.ts';
import { storeLeases } from '../../../src/core/store-leases.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { type DatabaseFolder, databaseFolder } from '../../support/sqlite-file.ts';

export const OPERATION = 'script';
export const idOf = (key: string, operation = OPERATION): RecordId => recordId(operation, [], [key]);
export const run = (key: string, operation = OPERATION) => ({ kind: 'run', operation, key }) as const;

export interface Printed {
  readonly out: Screen;
  text(): string;
  lines(): string[];
  json(): Record<string, unknown>[];
}

/** `columns`: a terminal of that width. */
export function printed({ json = false, columns }: { json?: boolean; columns?: number } = {}): Printed {
  let text = '';
  const stdout = new Writable({
    write(chunk, _, done) {
      text += String(chunk);
      done();
    },
  });
  if (columns !== undefined) Object.assign(stdout, { isTTY: true, getColorDepth: () => 8 });
  const lines = (): string[] => text.split('\n').slice(0, -1);
  return {
    out: makeOut({ json, stdout, isTTY: columns !== undefined, columns }),
    text: () => text,
    lines,
    json: () => lines().map((line) => JSON.parse(line) as Record<string, unknown>),
  };
}

export interface Said {
  readonly exitCode: number;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

/** Both ways of one answer: in words and as JSON. Only for what does not write. */
export async function both(ask: (out: Screen) => Promise<number>): Promise<Said> {
  const words = printed();
  const json = printed({ json: true });
  const exitCode = await ask(words.out);
  if ((await ask(json.out)) !== exitCode) throw new Error('--json changes the exit code');
  return { exitCode, text: words.text(), json: json.json()[0] ?? {} };
}

export const placeOf = (store: RecordStore, url = 'sqlite:/var/lib/records.db'): OpenPlace => ({
  url,
  shown: url,
  store,
  leases: storeLeases(store),
  close: async () => {},
});

export interface CommandStage {
  store: RecordStore;
  place: OpenPlace;
  /** Lets the time of the store pass. */
  pass(ms: number): void;
}

/** SQLite, whose time passes when a test says so. Registers hooks: call it inside `describe`. */
export function commandStage(): CommandStage {
  let folder: DatabaseFolder;
  let nowMs = 1_767_225_600_000;
  const stage = {
    pass(ms: number) {
      nowMs += ms;
    },
  } as CommandStage;
  beforeAll(async () => {
    folder = await databaseFolder();
    stage.store = sqliteStore({ path: folder.path, clock: { nowMs: () => nowMs } });
    await stage.store.setUp?.();
    stage.place = placeOf(stage.store);
  });
  afterAll(async () => {
    await stage.store.close?.();
    await folder.remove();
  });
  return stage;
}

export const runs = (store: RecordStore, key: string, work: Work<unknown>, more: Partial<GuardOptions> = {}) =>
  tryRunOnce({ store, operation: OPERATION, key, ...more } as GuardOptions & { key: string }, work);

const swallow = (): void => {};
export const KEPT = {
  exitCode: 0,
  startedAt: '2026-01-01T00:00:00.000Z',
  durationMs: 12_000,
  host: 'build-7',
  user: 'ann',
  pid: 4711,
  gitSha: 'c0ffee',
  command: 'make deploy',
  tail: [
    { stream: 'stdout', bytes: new TextEncoder().encode('building\nhalf of a line, ') },
    { stream: 'stderr', bytes: new TextEncoder().encode('and its end\n') },
  ],
};

export const succeed = (store: RecordStore, key: string, value: unknown = KEPT, more: Partial<GuardOptions> = {}) =>
  runs(store, key, async () => value, more);

/** Ended badly, and judged so. */
export async function end(
  store: RecordStore,
  key: string,
  as: 'release' | 'block' | 'unknown' | 'withdraw' | 'remember',
  note?: string,
): Promise<void> {
  const work = async (): Promise<never> => {
    throw Object.assign(new Error('card was declined'), { name: 'CardError', code: 'declined' });
  };
  await runs(store, key, work, { onThrow: () => (note === undefined ? as : { as, note }) }).catch(swallow);
}

export interface Running {
  /** Lets the work end. */
  finish(): Promise<unknown>;
}

/** Resolves once its work has begun. */
export async function begin(store: RecordStore, key: string, more: Partial<GuardOptions> = {}): Promise<Running> {
  let endIt = (_: unknown): void => {};
  const ending = new Promise<unknown>((resolve) => {
    endIt = resolve;
  });
  let running: Promise<unknown> = Promise.resolve();
  await new Promise<void>((began) => {
    const work = (): Promise<unknown> => {
      began();
      return ending;
    };
    running = runs(store, key, work, more).catch((error: unknown) => error);
  });
  return {
    finish: () => {
      endIt(KEPT);
      return running;
    },
  };
}
