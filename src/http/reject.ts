/**
 * A handler's way to say: this was refused before anything was begun.
 *
 * @module
 */

// One for all copies of the package in a process: the handler may load the CommonJS one, the wrapper the ESM one.
const SLOT = Symbol.for('rerunsafe.rejected');
type Global = typeof globalThis & { [SLOT]?: WeakSet<object> };

const rejected = (): WeakSet<object> => {
  const shared = globalThis as Global;
  shared[SLOT] ??= new WeakSet<object>();
  return shared[SLOT];
};

/**
 * Marks an answer as "failed validation, nothing was begun". It goes to the caller and is not kept: the record is withdrawn, so a corrected request
 * may use the same key. It has to be *returned*, as it is: a copy of it is an answer like any other.
 *
 * Where an earlier attempt, or a step of this one, may have done something, the key stays bound to its request: the same one may run again, another
 * one is refused (422).
 *
 * @param answer In the shape of the platform, with a status of 400 to 599.
 * @throws TypeError for any other answer: a caller who is told that all went well must find it done.
 * @example
 * const parsed = Order.safeParse(await request.json());
 * if (!parsed.success) return reject({ status: 400, jsonBody: parsed.error.issues });
 */
export function reject<A extends object>(answer: A): A {
  if (typeof answer !== 'object' || answer === null) throw new TypeError('reject: the answer must be an object with a status.');
  const { status, statusCode } = answer as { readonly status?: unknown; readonly statusCode?: unknown };
  const code = Number(status ?? statusCode);
  if (!(code >= 400 && code <= 599)) throw new TypeError('reject: the status of the answer must be from 400 to 599.');
  // A constant that is rejected in one place may be returned after the work in another.
  const marked = isPlain(answer) ? { ...answer } : answer;
  rejected().add(marked);
  return marked;
}

export const isRejected = (answer: unknown): boolean => typeof answer === 'object' && answer !== null && rejected().has(answer);

function isPlain(answer: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(answer);
  return prototype === Object.prototype || prototype === null;
}
