/**
 * Which requests of a proxy are spoiled, and how; the same for HTTP and for protocols of their own.
 *
 * @module
 */
export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/**
 * - `drop-answer`: forwarded and answered upstream, so it *was* applied; then the client's connection is reset.
 * - `drop-request`: the connection is reset before anything was forwarded.
 * - `{ delayMs }`: applied at once and answered late; with `at: 'request'` it is applied late, even when the client has gone by then.
 * - `stall`: applied, not answered until `clear` or `stop`, which reset the connection.
 * - `half-answer`: applied; the answer breaks off in its middle.
 * - `duplicate`: sent upstream twice, the second answer is returned.
 * - `close-after`: answered, then the kept-alive connection is closed unannounced.
 * - `{ status }`: not forwarded; answered by the proxy.
 */
export type FaultAction =
  | 'drop-answer'
  | 'drop-request'
  | 'stall'
  | 'half-answer'
  | 'duplicate'
  | 'close-after'
  | { readonly delayMs: number; readonly at?: 'request' | 'answer' }
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string };

export interface Fault {
  /** Default: every request. */
  readonly match?: (request: ProxiedRequest) => boolean;
  /** The first matching request to spoil, counted from 1 at the time of injection. Default 1. */
  readonly nth?: number;
  /** How many matching requests in a row. Default 1. */
  readonly times?: number;
  readonly action: FaultAction;
}

export interface LoggedRequest {
  readonly method: string;
  readonly path: string;
  /** `x-amz-target`, where the SDK names the operation in a header. */
  readonly target?: string;
  /** The fault that was applied. */
  fault?: FaultAction;
  /** What upstream (or the proxy) answered, whether or not the client got to see it. */
  status?: number;
}

export interface Injected {
  /** Settles when the fault was first applied: for faults of the answer, after upstream has applied the request. Never rejects. */
  readonly fired: Promise<LoggedRequest>;
}

export interface FaultProxy {
  readonly port: number;
  readonly url: string;
  /** Every request that arrived, oldest first; retries of an SDK are requests of their own. */
  readonly requests: readonly LoggedRequest[];
  inject(fault: Fault): Injected;
  count(match?: (request: LoggedRequest) => boolean): number;
  /** Takes back all faults, empties the log and resets what is stalled. */
  clear(): void;
  stop(): Promise<void>;
}

interface Armed {
  readonly fault: Fault;
  readonly fire: (logged: LoggedRequest) => void;
  matched: number;
}

export interface Armory extends Pick<FaultProxy, 'requests' | 'inject' | 'count'> {
  /** Logs a request, and says what is to become of it. `fired` is called when that has happened. */
  meet(request: ProxiedRequest, logged: LoggedRequest): { readonly action: FaultAction | undefined; readonly fired: () => void };
  clear(): void;
}

export function armory(): Armory {
  const requests: LoggedRequest[] = [];
  const armed: Armed[] = [];

  const pick = (request: ProxiedRequest): Armed | undefined => {
    let picked: Armed | undefined;
    // All of them count, whichever is applied: otherwise one fault would shift the numbering of the next.
    for (const candidate of armed) {
      if (candidate.fault.match !== undefined && !candidate.fault.match(request)) continue;
      candidate.matched += 1;
      const nth = candidate.fault.nth ?? 1;
      if (candidate.matched >= nth && candidate.matched < nth + (candidate.fault.times ?? 1)) picked ??= candidate;
    }
    return picked;
  };

  return {
    requests,
    inject(fault) {
      return { fired: new Promise((fire) => armed.push({ fault, fire, matched: 0 })) };
    },
    count: (match) => (match === undefined ? requests.length : requests.filter(match).length),
    meet(request, logged) {
      requests.push(logged);
      const chosen = pick(request);
      const action = chosen?.fault.action;
      if (action !== undefined) logged.fault = action;
      return { action, fired: () => chosen?.fire(logged) };
    },
    clear() {
      armed.length = 0;
      requests.length = 0;
    },
  };
}
