/**
 * The runtime's side of the Runtime API.
 *
 * @module
 */
import { Agent, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { STREAM_HEADERS } from './response-stream.ts';
import { API, type Failure, HEADER, type Leftovers } from './wire.ts';

export interface Next {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class RuntimeClient {
  readonly #base: string;
  // Idle between requests, so it does not count as left behind.
  readonly #agent = new Agent({ keepAlive: true });

  /** `api`: `AWS_LAMBDA_RUNTIME_API`, host and port. */
  constructor(api: string) {
    this.#base = `http://${api}${API}`;
  }

  /** Waits as long as it takes: the process may be frozen meanwhile. */
  async next(leftovers?: Leftovers): Promise<Next> {
    const headers = leftovers === undefined ? {} : { [HEADER.leftovers]: encodeURIComponent(JSON.stringify(leftovers)) };
    const { response, body } = await answerTo(this.#request('GET', '/invocation/next', headers), undefined);
    if (response.statusCode !== 200) throw new Error(`the Runtime API answered ${response.statusCode}: ${body}`);
    return { headers: response.headers, body };
  }

  async respond(requestId: string, body: string): Promise<void> {
    await this.#post(`/invocation/${encodeURIComponent(requestId)}/response`, body);
  }

  async fail(requestId: string, failure: Failure): Promise<void> {
    await this.#post(`/invocation/${encodeURIComponent(requestId)}/error`, JSON.stringify(failure), failure.errorType);
  }

  async failInit(failure: Failure): Promise<void> {
    await this.#post('/init/error', JSON.stringify(failure), failure.errorType);
  }

  /** `taken` resolves when the Runtime API has the whole stream. */
  stream(requestId: string): { readonly request: ClientRequest; readonly taken: Promise<unknown> } {
    const opened = this.#request('POST', `/invocation/${encodeURIComponent(requestId)}/response`, STREAM_HEADERS);
    const taken = new Promise<unknown>((resolve, reject) => {
      opened.on('response', (response) => response.on('end', resolve).on('error', reject).resume());
      opened.on('error', reject);
    });
    taken.catch(() => {});
    return { request: opened, taken };
  }

  async #post(path: string, body: string, errorType?: string): Promise<void> {
    const headers = { 'Content-Type': 'application/json', ...(errorType === undefined ? {} : { [HEADER.errorType]: encodeURI(errorType) }) };
    const { response, body: said } = await answerTo(this.#request('POST', path, headers), body);
    if (response.statusCode !== 202) throw new Error(`the Runtime API answered ${response.statusCode}: ${said}`);
  }

  #request(method: string, path: string, headers: Readonly<Record<string, string | string[]>>): ClientRequest {
    return request(this.#base + path, { method, headers, agent: this.#agent });
  }
}

async function answerTo(sent: ClientRequest, body: string | undefined): Promise<{ response: IncomingMessage; body: string }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject);
    sent.end(body);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { response, body: Buffer.concat(chunks).toString() };
}
