/**
 * How shells tell of a signal.
 *
 * @module
 */
import { constants } from 'node:os';

export const codeOfSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal];
