/**
 * What a check has found, and what a person is to do about it.
 *
 * @module
 */
import { isRerunSafeError } from '../../core/errors.ts';
import { EXIT } from '../exit-codes.ts';
import { inCliWords } from './needs-set-up.ts';

export interface Check {
  readonly check: string;
  readonly ok: boolean;
  readonly detail: string;
  /** Of a problem: what to do. */
  readonly remedy?: string;
}

export interface Finding {
  readonly check: Check;
  /** 0, or what the process is to end with because of it. */
  readonly exitCode: number;
}

export const fine = (check: string, detail: string): Finding => ({ check: { check, ok: true, detail }, exitCode: EXIT.ok });

export const problem = (check: string, detail: string, remedy: string, exitCode: number = EXIT.config): Finding => ({
  check: { check, ok: false, detail, remedy },
  exitCode,
});

const AWAY = 'Look whether it runs, and whether it can be reached from here (host, port, firewall, proxy), then try again.';

/** A store that is away passes; what else fails is for a person. */
export function failed(check: string, error: unknown, remedy = 'Put right what is said here, then run doctor again.'): Finding {
  const isAway = isRerunSafeError(error, 'STORE_UNAVAILABLE') || isRerunSafeError(error, 'WRITE_UNKNOWN');
  const detail = inCliWords(error instanceof Error ? error.message : String(error));
  return isAway ? problem(check, detail, AWAY, EXIT.storeDown) : problem(check, detail, remedy);
}
