/**
 * Where a command's answer goes: lines for people, or values for programs (`--json`), never both.
 * @module
 */

export interface Out {
  /** Whether a program reads: {@link Out.json} is to be called, and {@link Out.print} says nothing a program needs. */
  readonly isJson: boolean;
  /** One line for people. */
  print(line: string): void;
  /** One value, as one line of JSON. */
  json(value: unknown): void;
}
