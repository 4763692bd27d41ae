import type { Event } from './format.ts';

export interface Violation {
  readonly promise: `I${number}`;
  readonly key: string;
  readonly says: string;
  /** The events that show it. */
  readonly shows: readonly Event[];
}

/** One line for what is wrong, and one for each event that shows it. */
export const textOf = ({ promise, key, says, shows }: Violation): string =>
  [`${promise} ${key}: ${says}`, ...shows.map((event) => `    ${JSON.stringify(event)}`)].join('\n');
