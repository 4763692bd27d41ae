/**
 * The `type` of a problem document (RFC 9457), read from a copy: the answer itself stays whole for the caller.
 *
 * @module
 */
import type { System } from '../../core/ports.ts';

/** Problem documents are small; what is longer is none of ours. */
const MOST_BYTES = 65_536;
/** A body that never ends must not hold up the answer: without its type it is judged by its headers. */
const MOST_MS = 5_000;

export async function problemTypeOf(response: Response, system: System): Promise<string | undefined> {
  const name = (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase();
  if (name !== 'application/problem+json') return undefined;
  // Whoever sends may have read it already.
  if (response.bodyUsed || response.body?.locked) return undefined;
  const reader = response.clone().body?.getReader();
  if (reader === undefined) return undefined;
  const stop = (): void => void reader.cancel().catch(() => {});
  const cancel = system.timers.after(MOST_MS, stop, { keepAlive: true });
  try {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for (let next = await reader.read(); !next.done && bytes <= MOST_BYTES; next = await reader.read()) {
      chunks.push(next.value);
      bytes += next.value.byteLength;
    }
    const problem: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const type = typeof problem === 'object' && problem !== null && 'type' in problem ? problem.type : undefined;
    return typeof type === 'string' ? type : undefined;
  } catch {
    // Broken off, or no JSON: the status and the headers are all that is known.
    return undefined;
  } finally {
    cancel();
    stop();
  }
}
