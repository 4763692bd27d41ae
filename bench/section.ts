/**
 * What a part of the benchmark hands over: a table for people, and the figures that a goal is set for.
 *
 * @module
 */

export interface Figure {
  readonly name: string;
  readonly value: number;
  /** Quartiles. */
  readonly low?: number;
  readonly high?: number;
  /** `×`: a ratio of two that were measured in the same rounds. */
  readonly unit: '×' | 'µs' | 'ms' | 'kB' | 'requests' | 'units' | 'bytes' | '$';
  /** At most so much. */
  readonly goal?: number;
}

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly note?: string;
}

export interface Measured {
  readonly tables: readonly Table[];
  readonly figures: readonly Figure[];
}

export interface Options {
  /** A share of the usual rounds, above 0: for a look, and for tests that only ask whether it runs. */
  readonly share: number;
}

export interface Section {
  readonly name: string;
  readonly measure: (options: Options) => Promise<Measured>;
}
