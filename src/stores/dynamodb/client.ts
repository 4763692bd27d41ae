/**
 * Sending commands: one client, one time limit for a whole call, and an account of what became of each try.
 *
 * @module
 */
import type {
  DynamoDBClient,
  DynamoDBClientResolvedConfig,
  $Command as SdkCommand,
  ServiceInputTypes,
  ServiceOutputTypes,
} from '@aws-sdk/client-dynamodb';
import { isRerunSafeError, storeUnavailable } from '../../core/errors.ts';
import { loadPackage } from '../../core/load-package.ts';
import type { CallOptions } from '../../core/ports.ts';
import { timeLimit } from '../../core/time-limit.ts';
import { mayHaveHappened, toStoreError } from './map-error.ts';
import { type ServerClock, serverClock, uncorrected } from './server-clock.ts';

export type Sdk = typeof import('@aws-sdk/client-dynamodb');
type Command<I extends ServiceInputTypes, O extends ServiceOutputTypes> = SdkCommand<
  I,
  O,
  DynamoDBClientResolvedConfig,
  ServiceInputTypes,
  ServiceOutputTypes
>;

/** Sends one command within the call; throws what the SDK throws. */
export type Send = <I extends ServiceInputTypes, O extends ServiceOutputTypes>(command: (sdk: Sdk) => Command<I, O>) => Promise<O>;

export interface Session {
  readonly read: Send;
  /** Any try of it that may have taken effect puts the whole call in doubt. */
  readonly write: Send;
  /** Looks for what refused a write. The network may have delivered that twice: where this fails, the write is in doubt. */
  readonly lookUp: Send;
}

export interface Connection {
  readonly clock: ServerClock;
  /** Runs one call of the port. What the SDK throws leaves it as an error of the store. `tables`: more that it concerns than the store's own. */
  call<T>(options: CallOptions | undefined, body: (session: Session) => Promise<T>, tables?: readonly string[]): Promise<T>;
  close(): void;
}

export interface ConnectionOptions {
  readonly client: DynamoDBClient | undefined;
  readonly tableName: string;
  readonly partitionKey: string;
  readonly requestTimeoutMs: number;
  readonly clock: { nowMs(): number } | undefined;
}

export const loadSdk = (): Promise<Sdk> => loadPackage('@aws-sdk/client-dynamodb', () => import('@aws-sdk/client-dynamodb'));

export function connect({ client: given, tableName: ownTable, partitionKey, requestTimeoutMs, clock: ownClock }: ConnectionOptions): Connection {
  const clock = ownClock === undefined ? serverClock() : uncorrected(ownClock);
  let made: DynamoDBClient | undefined;
  const clientOf = (sdk: Sdk): DynamoDBClient => {
    if (given !== undefined) return given;
    made ??= makeClient(sdk, requestTimeoutMs);
    return made;
  };

  async function call<T>(options: CallOptions | undefined, body: (session: Session) => Promise<T>, tables: readonly string[] = []): Promise<T> {
    // What is wrong with one of them is told without saying which.
    const tableName = [...new Set([ownTable, ...tables])].join(', ');
    const limit = timeLimit(requestTimeoutMs, options?.signal);
    const tries = { sent: false, inDoubt: false, writesUnderWay: 0 };

    const sender = (does: keyof Session): Send => {
      const isWrite = does === 'write';
      return async function send(make) {
        const sdk = await loadSdk();
        const command = make(sdk);
        command.middlewareStack.add(
          (next) => async (args) => {
            // A call that ended while credentials were being fetched must not send its write afterwards.
            limit.signal.throwIfAborted();
            const sentAtMs = Date.now();
            tries.sent = true;
            if (isWrite) tries.writesUnderWay += 1;
            try {
              const result = await next(args);
              clock.learn(dateOf(result.response), sentAtMs, Date.now());
              return result;
            } catch (error) {
              // The SDK tries again by itself, and only its last failure is thrown: an earlier try may have been the one that took effect.
              if (does === 'lookUp' || (isWrite && mayHaveHappened(error))) tries.inDoubt = true;
              clock.learn(dateOf((error as { $response?: unknown } | null)?.$response), sentAtMs, Date.now());
              throw error;
            } finally {
              if (isWrite) tries.writesUnderWay -= 1;
            }
          },
          // Low priority: inside the SDK's own retries, so that it sees each try.
          { step: 'finalizeRequest', priority: 'low', name: 'rerunsafeTries' },
        );
        return limit.race(clientOf(sdk).send(command, { abortSignal: limit.signal }));
      };
    };

    try {
      limit.signal.throwIfAborted();
      return await body({ read: sender('read'), write: sender('write'), lookUp: sender('lookUp') });
    } catch (error) {
      const inDoubt = tries.inDoubt || tries.writesUnderWay > 0;
      if (isRerunSafeError(error) && !(inDoubt && error.code === 'STORE_UNAVAILABLE')) throw error;
      if (limit.signal.aborted && !inDoubt) throw storeUnavailable(`DynamoDB table ${tableName}: ${String(limit.signal.reason)}`, error);
      throw toStoreError(error, { inDoubt, sent: tries.sent, tableName, partitionKey });
    } finally {
      limit.done();
    }
  }

  return {
    clock,
    call,
    close() {
      made?.destroy();
      made = undefined;
    },
  };
}

/** By default the SDK waits for an answer without limit, so that one lost packet would outlast every lease. */
function makeClient(sdk: Sdk, requestTimeoutMs: number): DynamoDBClient {
  const perTryMs = Math.ceil(requestTimeoutMs / 2);
  return new sdk.DynamoDBClient({
    maxAttempts: 3,
    requestHandler: { requestTimeout: perTryMs, throwOnRequestTimeout: true },
  });
}

function dateOf(response: unknown): string | undefined {
  const headers = (response as { headers?: Record<string, string> } | undefined)?.headers;
  // An answer out of a cache carries the date of another request.
  return headers === undefined || headers.age !== undefined ? undefined : headers.date;
}
