/**
 * The facts of an event as fields, and an error as plain data.
 *
 * @module
 */
import type { LeaseEvent, RunEvent } from '../../core/events.ts';

export interface Fields {
  readonly rerunsafe: Readonly<Record<string, unknown>>;
  readonly error?: unknown;
}

/** Under one name, so that no field of the user's own is written over. */
export function fieldsOf({ error, ...facts }: RunEvent | LeaseEvent): Fields {
  const code = codeOf(error);
  return { rerunsafe: { ...facts, ...(code === undefined ? {} : { code }) }, ...(error === undefined ? {} : { error }) };
}

function codeOf(error: unknown): string | number | undefined {
  const { code } = (typeof error === 'object' && error !== null ? error : {}) as { code?: unknown };
  return typeof code === 'string' || typeof code === 'number' ? code : undefined;
}

/** One line of JSON, whatever was thrown. */
export function jsonOf({ rerunsafe, error }: Fields): string {
  const told = error === undefined ? {} : { error: error instanceof Error ? { name: error.name, message: error.message } : String(error) };
  return JSON.stringify({ ...rerunsafe, ...told });
}
