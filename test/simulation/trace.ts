/** A number for everything that happened in a run, in its order: two runs of one seed must agree on it. */
export class Trace {
  #a = 0x811c9dc5;
  #b = 0x1b873593;

  add(what: string | number): void {
    if (typeof what === 'number') this.#mix(Math.floor(what) | 0);
    else for (let at = 0; at < what.length; at++) this.#mix(what.charCodeAt(at));
  }

  #mix(value: number): void {
    this.#a = Math.imul(this.#a ^ value, 0x01000193);
    this.#b = Math.imul(this.#b ^ (value + (this.#b >>> 13)), 0x85ebca6b);
  }

  get hash(): string {
    return (this.#a >>> 0).toString(16).padStart(8, '0') + (this.#b >>> 0).toString(16).padStart(8, '0');
  }
}
