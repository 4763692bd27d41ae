/**
 * A time limit for each try, on a client of our own: the SDK has none, and one hung connection would use up the whole call.
 *
 * @module
 */
import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import type { RestError, TableClient } from '@azure/data-tables';
import type { Policy } from './tries.ts';

export interface TryLimit {
  readonly limitMs: number;
  /** Used where no proxy has set its own, so that closing the store closes its sockets. */
  readonly agents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  readonly RestError: typeof RestError;
}

export function limitTries(client: TableClient, { limitMs, agents, RestError: Failure }: TryLimit): void {
  const policy: Policy = {
    name: 'rerunsafeTryLimit',
    async sendRequest(request, next) {
      request.agent ??= (request.url.startsWith('http:') ? agents.http : agents.https) as unknown as NonNullable<typeof request.agent>;
      const outer = request.abortSignal;
      const controller = new AbortController();
      const passOn = (): void => controller.abort();
      const limit = setTimeout(passOn, limitMs);
      outer?.addEventListener('abort', passOn);
      if (outer?.aborted) passOn();
      request.abortSignal = controller.signal;
      try {
        return await next(request);
      } catch (error) {
        // An abort is never tried again; this code is.
        if (controller.signal.aborted && !outer?.aborted) throw new Failure(`No answer within ${limitMs} ms.`, { code: 'ETIMEDOUT', request });
        throw error;
      } finally {
        clearTimeout(limit);
        outer?.removeEventListener('abort', passOn);
        if (outer === undefined) delete request.abortSignal;
        else request.abortSignal = outer;
      }
    },
  };
  client.pipeline.addPolicy(policy, { afterPhase: 'Retry' });
}
