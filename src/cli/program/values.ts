/**
 * Values of options: each turned into what the code works with, or refused with a sentence that names the option.
 *
 * @module
 */
import { parseDuration } from '../duration.ts';
import { UsageError } from '../usage-error.ts';

const MOST_WAIT_MS = 2_147_483_647;

export const duration =
  (option: string, { min = 0, max = MOST_WAIT_MS }: { min?: number; max?: number } = {}) =>
  (text: string): number =>
    parseDuration(text, option, { min, max });

/** Or for ever. */
export const retention =
  (option: string) =>
  (text: string): number =>
    parseDuration(text, option, { min: 1_000, forever: true });

export const whole =
  (option: string, min: number, max: number) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new UsageError(`${option} must be a whole number from ${min} to ${max}, not ${JSON.stringify(text)}`);
    return value;
  };

const UNITS: Readonly<Record<string, number>> = { '': 1, k: 1_024, m: 1_048_576 };

/** `tail:64k`: how much of the end of the output is kept. */
export function captured(text: string): number {
  const [, digits, unit = ''] = /^tail:(\d{1,9})([km]?)$/i.exec(text) ?? [];
  const bytes = Number(digits) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  if (!(bytes >= 1 && bytes <= 8 * 1_048_576))
    throw new UsageError(`--capture must be like tail:64k, from tail:1 to tail:8m, not ${JSON.stringify(text)}`);
  return bytes;
}

/** An option that may be given several times. */
export const several = (text: string, before: readonly string[] = []): string[] => [...before, text];
