/**
 * What each try of a call came to. The SDK repeats a failed request by itself and shows only the last failure: a refused connection at the end
 * says nothing about the try before it, which may have been applied.
 *
 * @module
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { TableClient } from '@azure/data-tables';

/** `never`: known to have done nothing. `maybe`: sent, and no answer, or one that does not say. `answered`: the service did, or refused, it. */
export type Try = 'never' | 'maybe' | 'answered';

export type Pipeline = TableClient['pipeline'];
export type Policy = Parameters<Pipeline['addPolicy']>[0];
type Response = Awaited<ReturnType<Policy['sendRequest']>>;

const calls = new AsyncLocalStorage<Try[]>();
/** The policy is named per copy of this module: a pipeline refuses two policies of one name. */
const POLICY_NAME = `rerunsafeTries-${randomUUID()}`;
const watched = new WeakSet<Pipeline>();

/** Puts an onlooker into the client's pipeline, once; it changes nothing. False when the client has no pipeline to look into. */
export function watchTries(client: TableClient): boolean {
  const pipeline: Pipeline | undefined = client.pipeline;
  if (typeof pipeline?.addPolicy !== 'function') return false;
  if (watched.has(pipeline)) return true;
  watched.add(pipeline);
  // Behind the signing: what fails before (a credential, a token endpoint) was never sent to the table.
  pipeline.addPolicy(onlooker, { afterPhase: 'Sign' });
  return true;
}

/** Runs a call and keeps in `tries` what each of its tries came to. */
export const recordTries = <T>(tries: Try[], call: () => Promise<T>): Promise<T> => calls.run(tries, call);

const onlooker: Policy = {
  name: POLICY_NAME,
  async sendRequest(request, next) {
    const tries = calls.getStore();
    if (tries === undefined) return next(request);
    const insecure = request.url.startsWith('http:') && request.allowInsecureConnection !== true;
    // Kept as `maybe` until the answer is here: a call that is given up leaves its last try in doubt.
    const n = tries.push(insecure ? 'never' : 'maybe') - 1;
    try {
      const response = await next(request);
      tries[n] = ofResponse(response);
      return response;
    } catch (error) {
      if (isUnsent(error)) tries[n] = 'never';
      throw error;
    }
  },
};

/** Throttled requests are turned away before any work; other failures of a server may come after it. */
function ofResponse(response: Pick<Response, 'status' | 'bodyAsText'>): Try {
  const { status } = response;
  if (status === 429) return 'never';
  if (status === 503) return response.bodyAsText?.includes('ServerBusy') ? 'never' : 'maybe';
  return status === 408 || status >= 500 ? 'maybe' : 'answered';
}

/** Failures of connecting: no byte of the request left. */
const UNSENT: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export const isUnsent = (error: unknown): boolean => UNSENT.has((error as { code?: unknown } | undefined)?.code);
