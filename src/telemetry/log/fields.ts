/**
 * The facts of an event as fields, and an error as plain data.
 *
 * @module
 */
import type { LeaseEvent, RunEvent } from '../../core/events.ts';
import { read, textOf } from '../read.ts';

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
  const code = read(() => (error as { code?: unknown } | null | undefined)?.code, undefined);
  return typeof code === 'string' || typeof code === 'number' ? code : undefined;
}

/** One line of JSON, whatever was thrown. */
export function jsonOf({ rerunsafe, error }: Fields): string {
  const told = read<unknown>(() => (error instanceof Error ? { name: error.name, message: error.message } : textOf(error)), textOf(error));
  return JSON.stringify({ ...rerunsafe, ...(error === undefined ? {} : { error: told }) });
}
