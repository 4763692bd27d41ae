/**
 * An intent that is bound before anything is sent, so that what is kept for a restart says which request it was.
 *
 * @module
 */
import { invalidOptions } from '../../core/options.ts';
import { type Intent, type NewIntentOptions, newIntent } from './intent.ts';
import { isStream, type RequestInput, readPayload } from './payload.ts';

/**
 * Like {@link newIntent}, bound to this request. A `Request` is read from a copy.
 *
 * @throws RerunSafeError `INVALID_OPTIONS`, also for a stream: it can be read only once.
 *
 * @example
 * const intent = await intentFor(url, init);
 * await db.save(order.id, JSON.stringify(intent));
 * await send(url, init, intent);
 */
export async function intentFor(input: RequestInput, init?: RequestInit, options: NewIntentOptions = {}): Promise<Intent> {
  const intent = newIntent(options);
  if (isStream(init?.body)) throw invalidOptions('intentFor', ['the body is a stream, which can be read only once: read it first']);
  const { fingerprint } = await readPayload(input instanceof Request ? input.clone() : input, init, Number.MAX_SAFE_INTEGER);
  intent.bind(fingerprint);
  return intent;
}
