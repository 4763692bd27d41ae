/**
 * What the Runtime API and the runtime say to each other (version 2018-06-01), known to both sides.
 *
 * @module
 */
export const API = '/2018-06-01/runtime';

export const HEADER = {
  requestId: 'Lambda-Runtime-Aws-Request-Id',
  deadlineMs: 'Lambda-Runtime-Deadline-Ms',
  functionArn: 'Lambda-Runtime-Invoked-Function-Arn',
  traceId: 'Lambda-Runtime-Trace-Id',
  responseMode: 'Lambda-Runtime-Function-Response-Mode',
  errorType: 'Lambda-Runtime-Function-Error-Type',
  /** A trailer: base64 of the JSON of a {@link Failure}. */
  errorBody: 'Lambda-Runtime-Function-Error-Body',
  /** Not of the platform: what the invocation before has left behind. */
  leftovers: 'Test-Leftovers',
} as const;

/** A streamed answer that begins with a JSON of status and headers, and eight zero bytes. */
export const PRELUDE_TYPE = 'application/vnd.awslambda.http-integration-response';
export const PRELUDE_END = new Uint8Array(8);

/** How the runtime says that a handler failed. */
export interface Failure {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
}

/** What is still going on in a process after an answer. */
export interface Leftovers {
  /** What keeps the process alive, as `process.getActiveResourcesInfo()` names it, beyond what the runtime itself holds. */
  readonly active: readonly string[];
  /** Timers of the invocation that neither fired nor were cancelled, unreferenced ones too: where each was started. */
  readonly timers: readonly string[];
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { errorType: typeof error, errorMessage: String(error), trace: [] };
  return { errorType: error.name, errorMessage: error.message, trace: error.stack?.split('\n') ?? [] };
}
