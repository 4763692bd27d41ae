/**
 * The four shapes of an HTTP request in Lambda, read as one.
 *
 * @module
 */
import type { ALBEvent, APIGatewayProxyEventBase, APIGatewayProxyEventV2WithRequestContext } from 'aws-lambda';
import { RerunSafeError } from '../../../core/errors.ts';
import type { HttpRequestView } from '../../../http/guard-http.ts';

/** API Gateway REST (and HTTP API with payload 1.0), HTTP API with payload 2.0 and function URLs, Application Load Balancer. */
export type HttpEvent = APIGatewayProxyEventBase<unknown> | APIGatewayProxyEventV2WithRequestContext<unknown> | ALBEvent;

/** How the answer has to look. A load balancer takes either `headers` or `multiValueHeaders`: whichever the request came with. */
export type HttpShape = 'v1' | 'v2' | 'alb' | 'alb-multi-value';

type V1 = APIGatewayProxyEventBase<unknown>;
type V2 = APIGatewayProxyEventV2WithRequestContext<{ readonly http?: { readonly method?: string }; readonly stage?: string }>;
type Many = Readonly<Record<string, readonly string[] | undefined>>;
type Single = Readonly<Record<string, string | undefined>>;

/** @throws RerunSafeError `INVALID_OPTIONS` for an event that is no HTTP request. */
export function readRequest(event: unknown): { readonly shape: HttpShape; readonly view: HttpRequestView } {
  const given = (event ?? {}) as Partial<V1 & V2 & ALBEvent>;
  const other = otherKind(event);
  if (other !== undefined) throw notHttp(other);
  const method = given.requestContext?.http?.method;
  if (typeof given.rawPath === 'string' && typeof method === 'string') return { shape: 'v2', view: viewOfV2(given as V2, method) };
  if (typeof given.httpMethod !== 'string' || typeof given.path !== 'string') throw notHttp('the event');
  const isAlb = (given.requestContext as { elb?: unknown } | undefined)?.elb !== undefined;
  const shape = !isAlb ? 'v1' : given.multiValueHeaders ? 'alb-multi-value' : 'alb';
  return { shape, view: viewOfV1(given as V1 | ALBEvent, isAlb) };
}

function viewOfV2(event: V2, method: string): HttpRequestView {
  const headers = headersFrom(undefined, event.headers);
  if (event.cookies?.length) headers.set('cookie', [event.cookies.join('; ')]);
  const path = withoutStage(event.rawPath, event.requestContext.stage);
  return { method: method.toUpperCase(), path, query: event.rawQueryString ?? '', header: reader(headers), body: bodyOf(event) };
}

function viewOfV1(event: V1 | ALBEvent, isAlb: boolean): HttpRequestView {
  const query = queryOf(event.multiValueQueryStringParameters, event.queryStringParameters, isAlb);
  const header = reader(headersFrom(event.multiValueHeaders, event.headers));
  const { path: asWritten, stage } = (event.requestContext ?? {}) as { readonly path?: unknown; readonly stage?: string };
  // REST takes the stage off by itself, except on some custom domains; HTTP APIs never do.
  const path = asWritten === event.path ? withoutStage(event.path, stage) : event.path;
  return { method: event.httpMethod.toUpperCase(), path, query, header, body: bodyOf(event) };
}

/** A request that is sent again after the API has moved to another stage is the same request. */
function withoutStage(path: string, stage: string | undefined): string {
  if (stage === undefined || stage === '$default' || !`${path}/`.startsWith(`/${stage}/`)) return path;
  return path.slice(stage.length + 1) || '/';
}

/** Where both are given they say the same, `multiValueHeaders` with every line. */
function headersFrom(many: Many | null | undefined, single: Single | null | undefined): Map<string, string[]> {
  const lines = new Map<string, string[]>();
  const add = (name: string, values: readonly string[]): void => {
    lines.set(name.toLowerCase(), [...(lines.get(name.toLowerCase()) ?? []), ...values]);
  };
  for (const [name, values] of Object.entries(many ?? {})) if (values) add(name, values);
  if (lines.size > 0) return lines;
  for (const [name, value] of Object.entries(single ?? {})) if (value !== undefined && value !== null) add(name, [value]);
  return lines;
}

const reader =
  (lines: ReadonlyMap<string, readonly string[]>): HttpRequestView['header'] =>
  (name) =>
    lines.get(name.toLowerCase())?.join(', ');

/** API Gateway hands out decoded parameters, a load balancer encoded ones. In order of their names: these maps promise none. */
function queryOf(many: Many | null | undefined, single: Single | null | undefined, encoded: boolean): string {
  const pairs: [string, string][] = [];
  for (const [name, values] of Object.entries(many ?? {})) for (const value of values ?? []) pairs.push([name, value ?? '']);
  if (pairs.length === 0) for (const [name, value] of Object.entries(single ?? {})) pairs.push([name, value ?? '']);
  const written = encoded ? pairs : pairs.map(([name, value]) => [encode(name), encode(value)] as const);
  return [...written]
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** A lone surrogate cannot be percent-encoded; a request must not fail for it. */
const encode = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

/** A middleware may have parsed it: JSON is compared by value, so what it has made of it says as much as the text. */
function bodyOf({ body, isBase64Encoded }: { readonly body?: unknown; readonly isBase64Encoded?: boolean }): Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (typeof body !== 'string') return Buffer.from(body === undefined || body === null ? '' : JSON.stringify(body));
  return Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8');
}

/** What looks like HTTP, and has answers of another kind. */
function otherKind(event: unknown): string | undefined {
  const { raw_path, requestContext } = (event ?? {}) as { readonly raw_path?: unknown; readonly requestContext?: Readonly<Record<string, unknown>> };
  if (requestContext?.connectionId !== undefined) return 'a WebSocket message';
  return raw_path !== undefined || requestContext?.serviceArn !== undefined ? 'a request of VPC Lattice' : undefined;
}

const notHttp = (what: string): RerunSafeError =>
  new RerunSafeError(
    'INVALID_OPTIONS',
    `idempotentHttp: ${what} is no HTTP request of API Gateway, a function URL or a load balancer. Nothing was run; use idempotent for other events.`,
  );
