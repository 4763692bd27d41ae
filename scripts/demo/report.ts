/**
 * What the demo prints: for each scene what was expected and what happened. Colours only where a person looks.
 *
 * @module
 */
import { isDeepStrictEqual, styleText } from 'node:util';

const WHAT = 48;
const EXPECTED = 24;

const style = (format: Parameters<typeof styleText>[0], text: string): string => styleText(format, text, { stream: process.stdout });
const print = (line = ''): void => void process.stdout.write(`${line}\n`);
const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export class Report {
  #held = 0;
  #failed = 0;
  #scenes = 0;
  #failedScenes = 0;
  readonly #startedMs = performance.now();

  /** Runs a scene; what it throws is a failure of the scene, not of the demo. */
  async scene(title: string, play: (expect: (what: string, happened: unknown, expected: unknown) => void) => Promise<void>): Promise<void> {
    this.#scenes += 1;
    const before = this.#failed;
    const startedMs = performance.now();
    print();
    print(style('bold', `${this.#scenes}  ${title}`));
    try {
      await play((what, happened, expected) => this.#line(what, happened, expected));
    } catch (error) {
      this.#failed += 1;
      print(`   ${style('red', '✗')} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    }
    if (this.#failed > before) this.#failedScenes += 1;
    print(style('dim', `     ${((performance.now() - startedMs) / 1000).toFixed(1)} s`));
  }

  #line(what: string, happened: unknown, expected: unknown): void {
    const holds = isDeepStrictEqual(happened, expected);
    if (holds) this.#held += 1;
    else this.#failed += 1;
    const mark = holds ? style('green', '✓') : style('red', '✗');
    print(`   ${mark} ${what.padEnd(WHAT)} expected ${shown(expected).padEnd(EXPECTED)} got ${shown(happened)}`);
  }

  /** Prints the last line; true when everything held. */
  close(): boolean {
    const seconds = ((performance.now() - this.#startedMs) / 1000).toFixed(0);
    const all = this.#failedScenes === 0;
    print();
    const scenes = `${this.#scenes - this.#failedScenes} of ${this.#scenes} scenes held`;
    print(style(all ? 'green' : 'red', `${scenes} (${this.#held} expectations met, ${this.#failed} not) in ${seconds} s`));
    return all;
  }
}
