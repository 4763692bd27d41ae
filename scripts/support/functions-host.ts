/**
 * A stand-in for the Azure Functions host inside this process: it drives the real `@azure/functions` library (registration, hooks, conversion of
 * what comes in and goes out) through the module that the Node.js worker provides, with data in the shape of the worker's protocol.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import Module from 'node:module';

/** Protocol data: one of the forms that the library converts. */
export interface RpcData {
  readonly string?: string;
  readonly json?: string;
  readonly bytes?: Uint8Array;
  readonly int?: number;
  readonly double?: number;
  readonly collectionString?: { readonly string: readonly string[] };
  readonly collectionBytes?: { readonly bytes: readonly Uint8Array[] };
  readonly http?: RpcHttp;
}

export interface RpcHttp {
  readonly method?: string;
  readonly url?: string;
  readonly statusCode?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly nullableHeaders?: Readonly<Record<string, { readonly value: string }>>;
  readonly cookies?: readonly { readonly name: string; readonly value: string }[];
  readonly body?: RpcData;
  readonly enableContentNegotiation?: boolean;
}

export interface RegisteredFunction {
  readonly name: string;
  readonly bindings: Readonly<Record<string, { readonly type: string; readonly direction: string; readonly [setting: string]: unknown }>>;
  readonly handler: (...inputs: unknown[]) => unknown;
}

/** What the host gets back for an invocation. */
export interface InvocationResponse {
  readonly returnValue?: RpcData | null;
  readonly outputs: Readonly<Record<string, RpcData>>;
  readonly logs: readonly { readonly level: string; readonly text: string }[];
}

export interface HttpCallInit {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly cookies: readonly { readonly name: string; readonly value: string }[];
  readonly body: Buffer;
  readonly outputs: InvocationResponse['outputs'];
}

interface InvocationModel {
  getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], handler: RegisteredFunction['handler']): Promise<unknown>;
  getResponse(context: unknown, result: unknown): Promise<{ returnValue?: RpcData | null; outputData?: { name: string; data: RpcData }[] }>;
}
interface ProgrammingModel {
  getInvocationModel(context: unknown): InvocationModel;
}
type Hook = (context: Record<string, unknown>) => unknown;

const CORE = '@azure/functions-core';

export class FunctionsHost {
  readonly functions = new Map<string, RegisteredFunction>();
  readonly #hooks = new Map<string, Hook[]>();
  #model: ProgrammingModel | undefined;

  /** What the worker's module exports to the library. */
  get core(): Readonly<Record<string, unknown>> {
    return {
      version: '4.0.0-in-process',
      hostVersion: '4.1000.0',
      setProgrammingModel: (model: ProgrammingModel) => {
        this.#model = model;
      },
      getProgrammingModel: () => this.#model,
      registerFunction: ({ name, bindings }: Pick<RegisteredFunction, 'name' | 'bindings'>, handler: RegisteredFunction['handler']) => {
        if (this.functions.has(name)) throw new Error(`A function with the name "${name}" was registered already.`);
        this.functions.set(name, { name, bindings, handler });
      },
      registerHook: (event: string, hook: Hook) => {
        const hooks = this.#hooks.get(event) ?? [];
        this.#hooks.set(event, [...hooks, hook]);
        return {
          dispose: () =>
            this.#hooks.set(
              event,
              (this.#hooks.get(event) ?? []).filter((known) => known !== hook),
            ),
        };
      },
      log: () => {},
      Disposable: { from: () => ({ dispose: () => {} }) },
    };
  }

  /** What the worker does when all files of the app are loaded. */
  async start(): Promise<void> {
    await this.#run('appStart', { hookData: {} });
  }

  /**
   * One invocation, in the worker's order: arguments, preInvocation hooks, handler, postInvocation hooks, response. Rejects with what the function
   * threw; then nothing is written to any output.
   */
  async invoke(
    name: string,
    input: RpcData,
    triggerMetadata?: Readonly<Record<string, RpcData>>,
    invocationId: string = randomUUID(),
  ): Promise<InvocationResponse> {
    const registered = this.functions.get(name);
    if (registered === undefined || this.#model === undefined) throw new Error(`No function "${name}" was registered.`);
    const trigger = Object.entries(registered.bindings).find(([, { type }]) => /trigger$/i.test(type))?.[0];
    const logs: { level: string; text: string }[] = [];
    const core = {
      invocationId,
      metadata: { name, bindings: registered.bindings },
      request: { invocationId, inputData: [{ name: trigger, data: input }], ...(triggerMetadata === undefined ? {} : { triggerMetadata }) },
      state: undefined as string | undefined,
      log: (level: string, _category: string, text: string) => logs.push({ level, text }),
    };
    const model = this.#model.getInvocationModel(core);
    const { context, inputs } = await model.getArguments();

    const hook: Record<string, unknown> = { hookData: {}, appHookData: {}, invocationContext: context, inputs, functionCallback: registered.handler };
    core.state = 'preInvocationHooks';
    await this.#run('preInvocation', hook);
    core.state = 'invocation';
    const after: Record<string, unknown> = { ...hook, result: null, error: null };
    try {
      after.result = await model.invokeFunction(context, hook.inputs as unknown[], hook.functionCallback as RegisteredFunction['handler']);
    } catch (error) {
      after.error = error;
    }
    core.state = 'postInvocationHooks';
    await this.#run('postInvocation', after);
    if (after.error !== null && after.error !== undefined) throw after.error;
    const { returnValue, outputData } = await model.getResponse(context, after.result);
    return {
      ...(returnValue === undefined ? {} : { returnValue }),
      outputs: Object.fromEntries((outputData ?? []).map(({ name, data }) => [name, data])),
      logs,
    };
  }

  /** An HTTP invocation; a throw is the 500 that the host makes of it. */
  async http(name: string, { method = 'POST', url = `https://app.test/api/${name}`, headers = {}, body }: HttpCallInit = {}): Promise<HttpAnswer> {
    const request: RpcHttp = {
      method,
      url,
      nullableHeaders: Object.fromEntries(Object.entries(headers).map(([header, value]) => [header.toLowerCase(), { value }])),
      ...(body === undefined ? {} : { body: { bytes: typeof body === 'string' ? Buffer.from(body) : body } }),
    };
    let response: InvocationResponse;
    try {
      response = await this.invoke(name, { http: request });
    } catch {
      return { status: 500, headers: {}, cookies: [], body: Buffer.alloc(0), outputs: {} };
    }
    const http = response.returnValue?.http;
    return {
      status: http === undefined ? 204 : Number(http.statusCode),
      headers: http?.headers ?? {},
      cookies: http?.cookies ?? [],
      body: bytesOf(http?.body),
      outputs: response.outputs,
    };
  }

  async #run(event: string, context: Record<string, unknown>): Promise<void> {
    for (const hook of this.#hooks.get(event) ?? []) await hook(context);
  }
}

function bytesOf(data: RpcData | undefined): Buffer {
  if (data?.bytes !== undefined) return Buffer.from(data.bytes);
  return Buffer.from(data?.string ?? '');
}

let installed: FunctionsHost | undefined;

/**
 * Makes `require('@azure/functions-core')` give the stand-in, as the worker does. Has to come before the first `app.*` call: the library looks once
 * and remembers. The same host is returned when called again in one process.
 */
export function installFunctionsCore(): FunctionsHost {
  if (installed !== undefined) return installed;
  const host = new FunctionsHost();
  const prototype = Module.prototype as unknown as { require: (this: unknown, id: string) => unknown };
  const real = prototype.require;
  prototype.require = function require(this: unknown, id: string): unknown {
    return id === CORE ? host.core : real.call(this, id);
  };
  installed = host;
  return host;
}
