/**
 * The process in a sandbox: behaves as the Node.js runtime of Lambda does, and runs until it is killed.
 *
 * @module
 */
import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { watchLeftovers } from './leftovers.ts';
import { awslambda, failStream, responseStream } from './response-stream.ts';
import { type Next, RuntimeClient } from './runtime-client.ts';
import { type BufferedHandler, loadUserFunction, type StreamingHandler, type UserFunction } from './user-function.ts';
import { failureOf, HEADER } from './wire.ts';

const { env } = process;
const client = new RuntimeClient(env.AWS_LAMBDA_RUNTIME_API ?? '');
/** Managed instances: one environment, several invocations at once. */
const concurrent = env.AWS_LAMBDA_MAX_CONCURRENCY !== undefined;
const watch = concurrent ? undefined : watchLeftovers();
/** Where an error goes that no handler catches; undefined: there was no invocation yet. */
let current: string | undefined;

// Made on first use; here they are the runtime's, later they would look like something left behind.
void [process.stdout, process.stderr];

process.on('unhandledRejection', (reason) => {
  const error = Object.assign(new Error(String(reason)), { name: 'Runtime.UnhandledPromiseRejection' });
  void end(error, 128);
});
process.on('uncaughtException', (error) => void end(error, 129));

/** Said to the platform, then the process ends: whatever else it was doing cannot be trusted any more. */
async function end(error: unknown, exitCode: number): Promise<void> {
  console.error(error);
  const failure = failureOf(error);
  // Of several invocations nobody knows whose error it is; all end with the process.
  if (!concurrent || current === undefined) {
    await (current === undefined ? client.failInit(failure) : client.fail(current, failure)).catch(() => {});
  }
  process.exit(exitCode);
}

const header = (headers: IncomingHttpHeaders, name: string): string => String(headers[name.toLowerCase()]);

function contextFrom(headers: IncomingHttpHeaders): { readonly awsRequestId: string } {
  const deadlineMs = Number.parseInt(header(headers, HEADER.deadlineMs), 10);
  return Object.assign(
    {
      invokedFunctionArn: header(headers, HEADER.functionArn),
      awsRequestId: header(headers, HEADER.requestId),
      xRayTraceId: header(headers, HEADER.traceId),
      getRemainingTimeInMillis: () => deadlineMs - Date.now(),
    },
    {
      functionName: env.AWS_LAMBDA_FUNCTION_NAME,
      functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
      memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
      logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
      logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    },
  );
}

/** JSON as the platform takes it: nothing is `null`, and what JSON cannot carry is an error of the handler. */
function textOf(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value === undefined ? null : value);
  } catch {
    throw Object.assign(new Error('Unable to stringify response body'), { name: 'Runtime.JSONStringifyError' });
  }
  if (text === undefined) throw new TypeError('Wrong arguments');
  return text;
}

async function buffered(handler: BufferedHandler, event: unknown, context: { readonly awsRequestId: string }): Promise<void> {
  const { awsRequestId } = context;
  try {
    const text = textOf(await handler(event, context));
    await turn();
    await client.respond(awsRequestId, text);
  } catch (error) {
    await turn();
    await client.fail(awsRequestId, failureOf(error));
  }
}

async function streamed(handler: StreamingHandler, event: unknown, context: { readonly awsRequestId: string }): Promise<void> {
  const { request, taken } = client.stream(context.awsRequestId);
  try {
    const returned = handler(event, responseStream(request), context);
    if (typeof (returned as PromiseLike<unknown> | undefined)?.then !== 'function') throw new Error('Streaming does not support non-async handlers.');
    await returned;
  } catch (error) {
    await turn();
    failStream(request, error);
  }
  // A stream that is never ended is waited for until the function's limit.
  await taken;
}

async function work({ streaming, handler }: UserFunction, { headers, body }: Next): Promise<void> {
  const context = contextFrom(headers);
  if (!concurrent) env._X_AMZN_TRACE_ID = header(headers, HEADER.traceId);
  const event: unknown = JSON.parse(body);
  await (streaming ? streamed(handler, event, context) : buffered(handler, event, context));
}

async function main(): Promise<void> {
  (globalThis as { awslambda?: object }).awslambda = awslambda;
  let userFunction: UserFunction;
  try {
    userFunction = await loadUserFunction(env.LAMBDA_TASK_ROOT ?? '', env._HANDLER ?? '');
  } catch (error) {
    return end(error, 1);
  }
  let next = await client.next();
  for (;;) {
    current = header(next.headers, HEADER.requestId);
    if (concurrent) {
      const taken = next;
      setImmediate(() => void work(userFunction, taken).catch((error: unknown) => console.error(error)));
      next = await client.next();
    } else {
      watch?.begin();
      await work(userFunction, next);
      next = await client.next(await watch?.report());
    }
  }
}

await main();
