/**
 * What an error of the guard itself is called, and its exit code.
 *
 * @module
 */
import { type ErrorCode, isRerunSafeError } from '../../core/errors.ts';
import { codeOfSignal } from '../child/code-of-signal.ts';
import { EXIT } from '../exit-codes.ts';
import { inCliWords } from '../places/needs-set-up.ts';
import { UsageError } from '../usage-error.ts';
import { Interrupted } from './interrupts.ts';
import type { Report } from './report.ts';

const EXIT_OF: Partial<Record<ErrorCode, number>> = {
  STORE_UNAVAILABLE: EXIT.storeDown,
  STORE_MISCONFIGURED: EXIT.config,
  RECORD_TOO_NEW: EXIT.config,
  INVALID_OPTIONS: EXIT.usage,
  MISSING_KEY: EXIT.usage,
  MISSING_SCOPE: EXIT.usage,
};

/** @throws what is nobody's fault but ours. */
export function refusedBy(error: unknown): Report {
  if (error instanceof UsageError) return { became: 'refused', exitCode: error.exitCode, message: error.message };
  if (error instanceof Interrupted) return { became: 'refused', exitCode: codeOfSignal(error.signal), message: error.message };
  if (!isRerunSafeError(error)) throw error;
  return { became: 'refused', exitCode: EXIT_OF[error.code] ?? EXIT.guard, message: inCliWords(error.message), code: error.code };
}
