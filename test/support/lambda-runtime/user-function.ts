/**
 * The handler that `_HANDLER` names, as the Node.js runtime of Lambda finds it, and what it refuses.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ResponseStream } from './response-stream.ts';

/** Set by `awslambda.streamifyResponse`. */
export const STREAMING = Symbol.for('aws.lambda.runtime.handler.streaming');

export type BufferedHandler = (event: unknown, context: object) => unknown;
export type StreamingHandler = (event: unknown, stream: ResponseStream, context: object) => unknown;
export type UserFunction =
  | { readonly streaming: false; readonly handler: BufferedHandler }
  | { readonly streaming: true; readonly handler: StreamingHandler };

/** `.ts` is of this Node, not of the platform. */
const EXTENSIONS = ['', '.js', '.mjs', '.cjs', '.ts'];

/** What the runtime says of a function that it cannot run; the platform shows the name. */
function refusal(name: string, message: string): Error {
  const error = new Error(message);
  error.name = `Runtime.${name}`;
  return error;
}

/** `root`: `LAMBDA_TASK_ROOT`; `handler`: `folder/module.export`. */
export async function loadUserFunction(root: string, handler: string): Promise<UserFunction> {
  const [, module, name] = /^([^.]+)\.(.+)$/.exec(basename(handler)) ?? [];
  if (module === undefined || name === undefined || handler.includes('..')) throw refusal('MalformedHandlerName', 'Bad handler');
  const path = EXTENSIONS.map((extension) => resolve(root, dirname(handler), module + extension)).find((candidate) => existsSync(candidate));
  if (path === undefined) throw refusal('ImportModuleError', `Error: Cannot find module '${module}'`);
  const exported = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  const found = at(exported, name) ?? at(exported.default, name);
  if (typeof found !== 'function') throw refusal('HandlerNotFound', `${handler} is undefined or not exported, or not a function`);
  const streaming = (found as { [STREAMING]?: unknown })[STREAMING] === 'response';
  // A third parameter was the callback, which newer runtimes no longer pass: such a handler would never answer.
  if (!streaming && found.length >= 3) throw refusal('CallbackHandlerDeprecated', 'Callback-based function handlers are not supported.');
  return { streaming, handler: found } as UserFunction;
}

const at = (from: unknown, name: string): unknown =>
  name.split('.').reduce<unknown>((nested, key) => (nested as Record<string, unknown> | undefined)?.[key], from);
