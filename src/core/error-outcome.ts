/**
 * A thrown thing as an outcome to remember: its name, message, code and data. Anything can be thrown: null, a string, a frozen object, a proxy.
 *
 * @module
 */
import { encode } from './codec.ts';
import type { Whole } from './record.ts';

const MOST_NAME = 200;
const MOST_MESSAGE = 10_000;

/** `bare`: without data and with a short message, for a store that refused the whole for its size. */
export function errorOutcome(thrown: unknown, bare = false): Extract<Whole, { kind: 'error' }> {
  const name = property(thrown, 'name');
  const message = property(thrown, 'message');
  const code = property(thrown, 'code');
  const data = bare ? undefined : property(thrown, 'data');
  const encoding = data === undefined ? undefined : encode(data);
  return {
    kind: 'error',
    error: {
      name: typeof name === 'string' ? name.slice(0, MOST_NAME) : 'Error',
      message: (typeof message === 'string' ? message : text(thrown)).slice(0, bare ? 1_000 : MOST_MESSAGE),
      // JSON knows no NaN: it would come back as null.
      ...(typeof code === 'string' || Number.isFinite(code) ? { code: code as string | number } : {}),
      ...(encoding?.ok ? { data: encoding.encoded } : {}),
    },
  };
}

function property(thrown: unknown, name: string): unknown {
  try {
    return typeof thrown === 'object' && thrown !== null ? (thrown as Record<string, unknown>)[name] : undefined;
  } catch {
    return undefined;
  }
}

function text(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'an error that cannot be shown';
  }
}
