/**
 * What the demo and the scenarios print: for each scene what was expected and what happened. Colours only where a person looks.
 *
 * @module
 */
import { isDeepStrictEqual, styleText } from 'node:util';

const WHAT = 54;
const EXPECTED = 24;

const style = (format: Parameters<typeof styleText>[0], text: string): string => styleText(format, text, { stream: process.stdout });
const print = (line = ''): void => void process.stdout.write(`${line}\n`);
const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export type Expect = (what: string, happened: unknown, expected: unknown) => void;

/** A scene that has been played and not printed: those that are played side by side are printed one after the other. */
export interface Played {
  readonly lines: readonly string[];
  readonly held: number;
  readonly failed: number;
}

export class Report {
  readonly #noun: string;
  #held = 0;
  #failed = 0;
  #scenes = 0;
  #failedScenes = 0;
  readonly #startedMs = performance.now();

  /** `noun`: what the last line counts. */
  constructor(noun = 'scenes') {
    this.#noun = noun;
  }

  /** Plays a scene and prints while it is played; what it throws is a failure of the scene, not of the whole. */
  async scene(title: string, play: (expect: Expect) => Promise<void>): Promise<void> {
    print();
    print(style('bold', `${this.#scenes + 1}  ${title}`));
    this.#count(await playTo(print, play));
  }

  /** Prints what was played before, as one scene of several parts. */
  parts(title: string, parts: readonly { readonly title: string; readonly played: Played }[]): void {
    print();
    print(style('bold', title));
    for (const { title, played } of parts) {
      print();
      print(`   ${style('bold', title)}`);
      for (const line of played.lines) print(line);
    }
    const sum = (of: 'held' | 'failed'): number => parts.reduce((total, { played }) => total + played[of], 0);
    this.#count({ held: sum('held'), failed: sum('failed') });
  }

  #count({ held, failed }: Pick<Played, 'held' | 'failed'>): void {
    this.#scenes += 1;
    this.#held += held;
    this.#failed += failed;
    if (failed > 0) this.#failedScenes += 1;
  }

  /** Prints the last line; true when everything held. */
  close(): boolean {
    const seconds = ((performance.now() - this.#startedMs) / 1000).toFixed(0);
    const all = this.#failedScenes === 0;
    print();
    const scenes = `${this.#scenes - this.#failedScenes} of ${this.#scenes} ${this.#noun} held`;
    print(style(all ? 'green' : 'red', `${scenes} (${this.#held} expectations met, ${this.#failed} not) in ${seconds} s`));
    return all;
  }
}

/** Plays a scene and keeps what it would print. */
export async function playSilently(play: (expect: Expect) => Promise<void>): Promise<Played> {
  const lines: string[] = [];
  return { lines, ...(await playTo((line) => lines.push(line), play)) };
}

async function playTo(tell: (line: string) => unknown, play: (expect: Expect) => Promise<void>): Promise<Pick<Played, 'held' | 'failed'>> {
  const startedMs = performance.now();
  let held = 0;
  let failed = 0;
  try {
    await play((what, happened, expected) => {
      const holds = isDeepStrictEqual(happened, expected);
      if (holds) held += 1;
      else failed += 1;
      const mark = holds ? style('green', '✓') : style('red', '✗');
      tell(`   ${mark} ${what.padEnd(WHAT)} expected ${shown(expected).padEnd(EXPECTED)} got ${shown(happened)}`);
    });
  } catch (error) {
    failed += 1;
    tell(`   ${style('red', '✗')} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
  tell(style('dim', `     ${((performance.now() - startedMs) / 1000).toFixed(1)} s`));
  return { held, failed };
}
