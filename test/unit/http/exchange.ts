import { type BoundHttp, bindHttp, guardHttp, type HttpOptions, type HttpReply, type HttpRequestView } from '../../../src/http/guard-http.ts';
import { memoryStore } from '../../../src/index.ts';

export interface SentRequest {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

export function view({ method = 'POST', path = '/charges', query = '', headers = {}, body = '' }: SentRequest = {}): HttpRequestView {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    method,
    path,
    query,
    header: (name) => lower.get(name.toLowerCase()),
    body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
  };
}

export const reply = (status: number, body = '', headers: HttpReply['headers'] = []): HttpReply => ({
  status,
  headers,
  body: new TextEncoder().encode(body),
});

export const textOf = ({ body }: HttpReply): string => new TextDecoder().decode(body);
export const headerOf = ({ headers }: HttpReply, name: string): string | undefined => headers.find(([n]) => n.toLowerCase() === name)?.[1];
export const problemOf = (answer: HttpReply): Record<string, unknown> => JSON.parse(textOf(answer));

type Given = Partial<HttpOptions<HttpRequestView>>;

/** One operation on a memory store of its own; counts how often its handler ran. */
export function operation(options: Given, handle: (call: number) => HttpReply | Promise<HttpReply>) {
  const given: HttpOptions<HttpRequestView> = { store: memoryStore(), operation: 'payments/charge', scope: 'public', ...options };
  const bound: BoundHttp<HttpRequestView> = bindHttp('test', given);
  const counted = {
    bound,
    calls: 0,
    send(request: SentRequest = {}): Promise<HttpReply> {
      const headers = { 'Idempotency-Key': '"k-1"', ...request.headers };
      return counted.sendRaw({ ...request, headers });
    },
    sendRaw(request: SentRequest): Promise<HttpReply> {
      const seen = view(request);
      return guardHttp(bound, seen, seen, {}, async () => {
        counted.calls += 1;
        return handle(counted.calls);
      });
    },
  };
  return counted;
}
