/**
 * What becomes of a message whose delivery has failed.
 *
 * @module
 */
import { isPermanentError } from '../core/errors.ts';
import type { Relaying } from './options.ts';
import type { Ending } from './port.ts';

const MOST_ERROR_CHARACTERS = 1_000;
/** How far the causes of an error are followed. */
const MOST_CAUSES = 4;

/** `random`: in [0, 1). Without jitter all that failed together would come again together. */
export function afterFailure(
  error: unknown,
  attempts: number,
  { maxAttempts, backoff }: Pick<Relaying, 'maxAttempts' | 'backoff'>,
  random: number,
): Exclude<Ending, { kind: 'delivered' }> {
  const text = errorText(error);
  if (attempts >= maxAttempts || isPermanentError(error)) return { kind: 'parked', attempts, error: text };
  const pauseMs = Math.min(backoff.mostMs, backoff.firstMs * 2 ** (attempts - 1));
  return { kind: 'retry', attempts, delayMs: Math.max(1, Math.round(pauseMs * (0.5 + random))), error: text };
}

/** What a person needs to know, whatever was thrown. No database refuses it: no NUL, no half of a surrogate pair. */
export function errorText(error: unknown): string {
  const texts: string[] = [];
  let next = error;
  for (let causes = 0; causes < MOST_CAUSES && (causes === 0 || (next !== undefined && next !== null)); causes++) {
    try {
      texts.push(next instanceof Error ? `${next.name}: ${next.message}` : String(next));
      next = next instanceof Error ? next.cause : undefined;
    } catch {
      texts.push('an error that cannot be printed');
      break;
    }
  }
  const text = texts.join('; because of ').replaceAll('\0', '').slice(0, MOST_ERROR_CHARACTERS);
  return Buffer.from(text).toString();
}
