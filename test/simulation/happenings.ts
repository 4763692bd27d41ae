/**
 * Everything that can be left out of a run, by its name: a fault of a request, a crash, a call. What remains of a failing seed when nothing more can be
 * left out is what the failure needs.
 */
export class Happenings {
  readonly happened: string[] = [];
  readonly #keep: ReadonlySet<string> | undefined;

  /** `keep`: nothing else happens. */
  constructor(keep?: readonly string[]) {
    this.#keep = keep === undefined ? undefined : new Set(keep);
  }

  /** Asked once, just before it would happen. The dice that led there were thrown already, whatever is answered. */
  allows(name: string): boolean {
    if (this.#keep?.has(name) === false) return false;
    this.happened.push(name);
    return true;
  }
}
