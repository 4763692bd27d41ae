/**
 * The routes of the function app on a local port, as the Functions host serves them.
 *
 * @module
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { QueueClient } from '@azure/storage-queue';
import type { FunctionsHost, RegisteredFunction } from './functions-host.ts';
import { queueText, timerInput } from './sample-app.ts';

export interface AppServer {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * `/api/<route>`: HTTP functions. `POST /admin/functions/<name>`: runs a timer now. `POST /admin/queues/orders`: puts the JSON of the body on the queue.
 *
 * @throws Error `EADDRINUSE` where the port is taken; 0 takes a free one.
 */
export async function serveApp(host: FunctionsHost, orders: QueueClient, port: number): Promise<AppServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', `http://${request.headers.host ?? 'localhost'}`);
    const body = await bytesOf(request);
    const http = [...host.functions.values()].find((one) => isRouted(one, request.method ?? '', url.pathname));
    if (http !== undefined) return callHttp(host, http.name, request, url, body, response);
    if (request.method === 'POST' && url.pathname === '/admin/queues/orders') {
      await orders.sendMessage(queueText(JSON.parse(body.toString()) as object));
      response.writeHead(202).end();
      return;
    }
    const timer = host.functions.get(/^\/admin\/functions\/(\w+)$/.exec(url.pathname)?.[1] ?? '');
    if (request.method === 'POST' && timer !== undefined && triggerOf(timer)?.type === 'timerTrigger') {
      const { logs } = await host.invoke(timer.name, timerInput(new Date()));
      response.writeHead(202, { 'content-type': 'text/plain' }).end(logs.map(({ text }) => `${text}\n`).join(''));
      return;
    }
    response.writeHead(404).end();
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  await new Promise<void>((listening, failed) => server.once('error', failed).listen(port, '127.0.0.1', listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

const triggerOf = ({ bindings }: RegisteredFunction) => Object.values(bindings).find(({ type }) => /trigger$/i.test(type));

function isRouted(one: RegisteredFunction, method: string, path: string): boolean {
  const trigger = triggerOf(one);
  if (trigger?.type !== 'httpTrigger') return false;
  const methods = (trigger.methods ?? []) as readonly string[];
  return path === `/api/${String(trigger.route ?? one.name)}` && methods.some((allowed) => allowed.toUpperCase() === method);
}

async function callHttp(
  host: FunctionsHost,
  name: string,
  request: IncomingMessage,
  url: URL,
  body: Buffer,
  response: ServerResponse,
): Promise<void> {
  const headers = Object.fromEntries(Object.entries(request.headers).map(([header, value]) => [header, [value].flat().join(', ')]));
  const reply = await host.http(name, { method: request.method ?? 'GET', url: url.href, headers, ...(body.length > 0 ? { body } : {}) });
  response.writeHead(reply.status, { ...reply.headers }).end(reply.body);
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
