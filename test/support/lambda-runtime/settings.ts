/**
 * A function as it is set up, and what its processes know of that.
 *
 * @module
 */
import { basename, dirname, extname } from 'node:path';
import { fileURLToPath } from 'node:url';

const REGION = 'eu-west-1';
const NAME = 'orders';
const MEMORY_MB = '256';

export interface FunctionSettings {
  /** The module of the handler. */
  readonly handler: URL;
  /** What it exports the handler as. Default `handler`. */
  readonly exportName?: string;
  /** The function's own environment variables. Nothing else of this process's environment reaches the sandbox. */
  readonly env?: Readonly<Record<string, string>>;
  /** The limit of an invocation, ms. Default 3,000, as on the platform. */
  readonly timeoutMs?: number;
  /** As in managed instances: up to so many invocations at once in one process, which is never frozen. */
  readonly maxConcurrency?: number;
}

export const functionArn = (): string => `arn:aws:lambda:${REGION}:123456789012:function:${NAME}`;

/** As the platform sets it. No files of whoever runs the tests are read for credentials. */
export function processEnv({ handler, exportName = 'handler', env = {}, maxConcurrency }: FunctionSettings, api: string): Record<string, string> {
  const path = fileURLToPath(handler);
  return {
    TZ: ':UTC',
    AWS_LAMBDA_RUNTIME_API: api,
    LAMBDA_TASK_ROOT: dirname(path),
    _HANDLER: `${basename(path, extname(path))}.${exportName}`,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_FUNCTION_NAME: NAME,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: MEMORY_MB,
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    AWS_LAMBDA_LOG_GROUP_NAME: `/aws/lambda/${NAME}`,
    AWS_LAMBDA_LOG_STREAM_NAME: '2025/01/01/[$LATEST]abc',
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    ...(maxConcurrency === undefined ? {} : { AWS_LAMBDA_MAX_CONCURRENCY: String(maxConcurrency) }),
    ...env,
  };
}
