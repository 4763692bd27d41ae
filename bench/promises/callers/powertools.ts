/**
 * Powertools for AWS Lambda (TypeScript), as its page "Idempotency" sets it up: `makeIdempotent` around a handler, whose context is registered by that;
 * the key by `eventKeyJmesPath`, the rest checked by `payloadValidationJmesPath` (section "Payload validation").
 *
 * @module
 */
import { setTimeout as pause } from 'node:timers/promises';
import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import { lambdaContext } from '../../../test/support/aws-events.ts';
import type { Place } from '../protocol.ts';
import { type Caller, WAIT_MS, type Work } from './caller.ts';
import { localDynamodb } from './rerunsafe.ts';

interface Event {
  readonly key: string;
  readonly amount: number;
}

const MEANINGS: Readonly<Record<string, ReturnType<Caller['meaning']>>> = {
  IdempotencyAlreadyInProgressError: 'in-progress',
  IdempotencyValidationError: 'other-payload',
};
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : '');

export async function powertools(place: Place): Promise<Caller> {
  process.env.AWS_LAMBDA_FUNCTION_NAME = 'bench';
  const client = localDynamodb(place.dynamodb);
  const handlers = new Map<number, ReturnType<typeof handlerFor>>();
  // One invocation at a time, as in a sandbox: the work of the present one.
  let present: Work = () => Promise.reject(new Error('no work'));

  function handlerFor(expiresAfterSeconds: number) {
    return makeIdempotent((_event: Event, _context: unknown) => present(0), {
      persistenceStore: new DynamoDBPersistenceLayer({ tableName: place.powertoolsTable, awsSdkV3Client: client }),
      config: new IdempotencyConfig({
        eventKeyJmesPath: 'key',
        payloadValidationJmesPath: 'amount',
        throwOnNoIdempotencyKey: true,
        expiresAfterSeconds,
      }),
    });
  }

  return {
    async call({ key, amount, terms }, work) {
      const seconds = Math.ceil(terms.keepMs / 1_000);
      const handler = handlers.get(seconds) ?? handlerFor(seconds);
      handlers.set(seconds, handler);
      present = work;
      const untilMs = Date.now() + WAIT_MS;
      for (;;) {
        const endsAtMs = Date.now() + terms.leaseMs;
        try {
          return await handler(
            { key, amount },
            lambdaContext(() => Math.max(0, endsAtMs - Date.now())),
          );
        } catch (error) {
          // "If you receive IdempotencyAlreadyInProgressError, you can safely retry the operation."
          if (!terms.wait || MEANINGS[nameOf(error)] !== 'in-progress' || Date.now() > untilMs) throw error;
          await pause(50);
        }
      }
    },
    meaning: (error) => MEANINGS[nameOf(error)],
  };
}
