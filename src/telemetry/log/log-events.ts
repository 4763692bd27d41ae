/**
 * Events as lines of the user's own log.
 *
 * @module
 */
import type { LeaseEvent, RunEvent } from '../../core/events.ts';
import { checkOptions, invalidOptions, isOneOf, type Rules } from '../../core/options.ts';
import { listen } from '../listen.ts';
import { type Fields, fieldsOf, jsonOf } from './fields.ts';
import { LEVELS, type Level, leaseLine, runLine } from './lines.ts';

type Write = (...line: never[]) => unknown;

/** An `InvocationContext` of Azure Functions, a Powertools `Logger`, `console`, pino, or anything like them. */
export interface EventLogger {
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
  readonly debug?: Write;
}

export interface LogEventsOptions {
  /** What is less than this is not written. Default `info`: what each run says (`debug`) is left out. The logger's own level applies beside it. */
  readonly minLevel?: Level;
  /**
   * Where the fields go. `last`: (message, fields), as Powertools and `console` take them. `first`: (fields, message), as pino does, with the error as
   * `err`. `json`: in the message, for loggers that make text of everything, like Azure's. Default: by what the logger is.
   */
  readonly fields?: 'last' | 'first' | 'json';
}

const RULES: Rules = { minLevel: isOneOf(...LEVELS), fields: isOneOf('last', 'first', 'json') };

/**
 * Writes what happens to runs and leases to a log: a sentence, the facts as fields (`rerunsafe`, `error`), the level by the event. No key is in it, only
 * its hash. A logger that fails is warned about once, and nothing else comes of it.
 *
 * @param logger Or a function that says which one it is at the moment; undefined: none.
 * @returns what ends it.
 * @throws RerunSafeError `INVALID_OPTIONS`.
 * @example
 * logEvents(new Logger({ serviceName: 'payments' })); // Powertools
 */
export function logEvents(logger: EventLogger | (() => EventLogger | undefined), options: LogEventsOptions = {}): () => void {
  checkOptions('logEvents', options, RULES);
  if (!isLogger(logger) && typeof logger !== 'function') {
    throw invalidOptions('logEvents', ['the logger must have info, warn and error, or be a function that gives one']);
  }
  // The log of Azure's older programming model is a function itself.
  const present = isLogger(logger) ? () => logger : logger;
  const least = LEVELS.indexOf(options.minLevel ?? 'info');
  const tell = (what: string, { level, sentence }: ReturnType<typeof runLine>, event: RunEvent | LeaseEvent): unknown => {
    if (LEVELS.indexOf(level) < least) return undefined;
    const to = present();
    return to === undefined ? undefined : write(to, level, `${what}: ${sentence}.`, fieldsOf(event), options.fields ?? placeFor(to));
  };
  const stops = [
    listen<RunEvent>('rerunsafe:run', (event) => tell(event.operation, runLine(event), event)),
    listen<LeaseEvent>('rerunsafe:lease', (event) => tell(event.name, leaseLine(event), event)),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

/** What the logger makes of it: it may be a promise, that fails. */
function write(logger: EventLogger, level: Level, message: string, fields: Fields, place: NonNullable<LogEventsOptions['fields']>): unknown {
  // Called on the logger: its methods are of a class.
  const to = logger as unknown as Record<Level, ((...line: unknown[]) => unknown) | undefined>;
  const method = to[level] === undefined ? 'info' : level;
  if (place === 'json') return to[method]?.(`${message} ${jsonOf(fields)}`);
  if (place === 'last') return to[method]?.(message, fields);
  const { error, ...rest } = fields;
  return to[method]?.({ ...rest, ...(error === undefined ? {} : { err: error }) }, message);
}

const has = (logger: unknown, ...methods: readonly string[]): boolean =>
  methods.every((method) => typeof (logger as Record<string, unknown> | null | undefined)?.[method] === 'function');

const isLogger = (logger: unknown): logger is EventLogger => has(logger, 'info', 'warn', 'error');

/** pino has `bindings`; Azure's context knows its invocation, and its log has no fields. */
function placeFor(logger: EventLogger): NonNullable<LogEventsOptions['fields']> {
  if (has(logger, 'bindings')) return 'first';
  return 'invocationId' in logger || typeof logger === 'function' ? 'json' : 'last';
}
