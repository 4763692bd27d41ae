/**
 * One store, and guards on it, for a test file.
 *
 * @module
 */
import { mkdirSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';
import { until } from '../child/processes.ts';
import type { Moment } from './moments.ts';
import { type Place, type PlaceKind, sqlite } from './places.ts';
import { type Behaviour, behaving, COMMAND, type Seen, seenIn } from './witness.ts';
import { type Ended, type Wrapper, Wrappers } from './wrappers.ts';

export interface Guarded extends Wrapper {
  readonly key: string;
  /** For moments: {@link reached}, {@link letGo}. */
  readonly folder: string;
  seen(): Seen[];
  /** The process of its command, once that has begun. */
  command(): Promise<number>;
  /** Lets the command end. */
  finish(): void;
}

export interface How extends Partial<Pick<Behaviour, 'code' | 'ticks'>> {
  readonly options?: readonly string[];
  /** Default: holds until {@link Guarded.finish}. */
  readonly isShort?: boolean;
  /** It waits there. */
  readonly at?: Moment;
  readonly store?: string;
  /** Says in words what else it says as JSON; then there is no report. */
  readonly words?: boolean;
}

export interface CliStage<P extends Place = Place> {
  place: P;
  wrappers: Wrappers;
  /** A guard with a key of its own, or of another one, whose witness it then shares. */
  guard(how?: How, like?: Guarded): Guarded;
  /** `rerunsafe` with this store. */
  ask(...args: readonly string[]): Promise<Ended>;
  state(key: string): Promise<string>;
}

let count = 0;

/** Registers hooks: call it inside `describe`. */
export function cliStage<P extends Place = Place>(
  { start }: Pick<PlaceKind<P>, 'start'> & { readonly name?: string } = sqlite as PlaceKind<P>,
): CliStage<P> {
  const stage = {
    guard({ options = [], isShort = false, at, store = stage.place.url, words = false, ...behaviour }: How = {}, like?: Guarded): Guarded {
      const key = like?.key ?? `key-${++count}`;
      const folder = stage.wrappers.path(`folder-${++count}`);
      mkdirSync(folder);
      const witness = stage.wrappers.path(`witness-${key}`);
      const holds = `${folder}/holds`;
      const before = seenIn(witness).length;
      const env = behaving({ witness, ...(isShort ? {} : { holds }), ...behaviour });
      const staged = at === undefined ? {} : { staged: { folder, at, does: 'wait' } as const };
      const wrapper = stage.wrappers.start(['run', ...(words ? [] : ['--json']), '--key', key, '--store', store, ...options, '--', ...COMMAND], {
        env,
        ...staged,
      });
      const seen = (): Seen[] => seenIn(witness);
      return {
        ...wrapper,
        key,
        folder,
        seen,
        command: async () =>
          (
            await until(
              () =>
                seen()
                  .slice(before)
                  .find(({ what }) => what === 'in'),
              `the command of ${key} has begun`,
              20_000,
            )
          ).pid,
        finish: () => stage.wrappers.touch(holds),
      };
    },
    ask: (...args) => stage.wrappers.ask(...args, '--store', stage.place.url),
    async state(key) {
      const { stdout } = await stage.ask('status', key, '--json');
      return (JSON.parse(stdout) as { state: string }).state;
    },
  } as CliStage<P>;
  beforeAll(async () => {
    stage.place = await start();
    stage.wrappers = new Wrappers(stage.place.env);
    expect((await stage.ask('set-up')).code).toBe(0);
  });
  afterAll(async () => {
    stage.wrappers?.clean();
    await stage.place?.stop();
  });
  return stage;
}
