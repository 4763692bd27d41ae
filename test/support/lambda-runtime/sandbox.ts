/**
 * What tests use: sandboxes of functions, each a process that is frozen between its invocations and replaced when it has ended.
 *
 * @module
 */
import { Environment, type Invoked } from './environment.ts';
import type { FunctionSettings } from './settings.ts';

const DEFAULT_TIMEOUT_MS = 3_000;

export interface InvokeOptions {
  /** Instead of the function's own limit, ms. */
  readonly timeoutMs?: number;
  /** How long the sandbox has been frozen when this invocation thaws it, at least, ms. Default 0. */
  readonly frozenMs?: number;
}

export class Sandbox {
  readonly #settings: FunctionSettings;
  #environment: Promise<Environment> | undefined;
  #standing: Environment | undefined;
  #inFlight = 0;
  #closed = false;

  constructor(settings: FunctionSettings) {
    this.#settings = settings;
  }

  /**
   * Thaws the process, or starts one, and hands it the event. Never rejects for what a function can do. What is frozen afterwards stays so until the
   * next invocation.
   */
  async invoke(event: unknown, { timeoutMs, frozenMs = 0 }: InvokeOptions = {}): Promise<Invoked> {
    const { maxConcurrency = 1, timeoutMs: usualMs = DEFAULT_TIMEOUT_MS } = this.#settings;
    if (this.#inFlight >= maxConcurrency)
      throw new Error(`A sandbox takes ${maxConcurrency} invocation(s) at a time; the platform would start another.`);
    this.#inFlight += 1;
    try {
      const environment = await this.#running();
      return await environment.invoke(event, timeoutMs ?? usualMs, frozenMs);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /** Starts the process without an invocation, as provisioned concurrency does. Saves the start where time counts. */
  async warm(): Promise<void> {
    const environment = await this.#running();
    await environment.ready;
  }

  /** In the middle of an invocation; the limit goes on counting. */
  freeze(): void {
    this.#standing?.freeze();
  }

  thaw(): void {
    this.#standing?.thaw();
  }

  /** Without warning. */
  async kill(): Promise<void> {
    await this.#standing?.kill();
  }

  get output(): string {
    return this.#standing?.output ?? '';
  }

  async close(): Promise<void> {
    this.#closed = true;
    await (await this.#environment)?.kill();
  }

  async #running(): Promise<Environment> {
    if (this.#closed) throw new Error('This sandbox is closed.');
    if (this.#standing?.isOver === true) {
      this.#standing = undefined;
      this.#environment = undefined;
    }
    this.#environment ??= Environment.start(this.#settings);
    this.#standing = await this.#environment;
    return this.#standing;
  }
}

/** All sandboxes of a test file; `close` ends every process of them, also those that are frozen or hang. */
export class Sandboxes {
  readonly #defaults: Partial<FunctionSettings>;
  readonly #all: Sandbox[] = [];

  constructor(defaults: Partial<FunctionSettings> = {}) {
    this.#defaults = defaults;
  }

  start(settings: FunctionSettings): Sandbox {
    const env = { ...this.#defaults.env, ...settings.env };
    const sandbox = new Sandbox({ ...this.#defaults, ...settings, env });
    this.#all.push(sandbox);
    return sandbox;
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((sandbox) => sandbox.close()));
  }
}
