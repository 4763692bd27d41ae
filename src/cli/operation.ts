/**
 * What a key is of, where nothing else is said.
 *
 * @module
 */

/** One for all scripts: two of them that share a key are two runs of one piece of work, so keys name the work. */
export const DEFAULT_OPERATION = 'script';
