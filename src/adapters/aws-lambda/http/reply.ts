/**
 * What a handler answers, as a status, header lines and bytes; and back into the shape that the platform expects.
 *
 * @module
 */
import { isUtf8 } from 'node:buffer';
import type { ALBResult, APIGatewayProxyResult, APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import type { HttpReply } from '../../../http/guard-http.ts';
import { HandedStreams, isStream } from './handed-streams.ts';
import type { HttpShape } from './request.ts';

/**
 * Attached to a reply whose handler said base64 for a body that is text. Without binary media types REST APIs send base64 on as it is, so a replay
 * must be written as the first answer was.
 */
const SAID_BASE64 = 'base64';

type Line = readonly [name: string, value: string];
type Values = Readonly<Record<string, unknown>> | undefined | null;

interface Result {
  readonly statusCode?: unknown;
  readonly headers?: Values;
  readonly multiValueHeaders?: Values;
  readonly cookies?: readonly unknown[];
  readonly body?: unknown;
  readonly isBase64Encoded?: unknown;
}

/**
 * @throws TypeError for what the platform would refuse with 502: a handler that answers so has a mistake in it.
 */
export function replyFrom(shape: HttpShape, returned: unknown): HttpReply {
  if (isStream(returned)) throw streamRefused(returned);
  const result = typeof returned === 'object' && returned !== null ? (returned as Result) : undefined;
  if (result?.statusCode === undefined && shape === 'v2') return inferred(returned);
  const head = headOf(result);
  const body = result?.body;
  if (isStream(body)) throw streamRefused(body);
  if (body !== undefined && body !== null && typeof body !== 'string') throw malformed(`body must be a string, not ${typeof body}`);
  const base64 = result?.isBase64Encoded === true;
  const bytes = Buffer.from(body ?? '', base64 ? 'base64' : 'utf8');
  return { ...head, body: bytes, ...(base64 && isUtf8(bytes) ? { attached: SAID_BASE64 } : {}) };
}

/** @throws TypeError where there is no status. */
export function headOf(result: object | undefined): Pick<HttpReply, 'status' | 'headers'> {
  const given: Result = result ?? {};
  if (given.statusCode === undefined) throw malformed('it must return an object with a statusCode');
  const status = Number(given.statusCode);
  if (!Number.isInteger(status) || status < 100 || status > 599) throw malformed('statusCode must be a whole number from 100 to 599');
  return { status, headers: linesOf(given) };
}

function streamRefused(stream: AsyncIterable<unknown>): TypeError {
  const handed = new HandedStreams();
  handed.take(stream);
  handed.close();
  return malformed("body must be a string, not a stream: the option streams ('pass', or { recordUpTo: bytes }) makes this a handler of streams");
}

/** Payload 2.0: anything without a statusCode is the body of a 200. */
function inferred(returned: unknown): HttpReply {
  const text = typeof returned === 'string' ? returned : (JSON.stringify(returned ?? null) ?? 'null');
  return { status: 200, headers: [['content-type', 'application/json']], body: Buffer.from(text) };
}

function linesOf({ headers, multiValueHeaders, cookies }: Result): Line[] {
  const lines: Line[] = [];
  for (const [name, values] of Object.entries(multiValueHeaders ?? {})) {
    for (const value of Array.isArray(values) ? values : [values]) if (isGiven(value)) lines.push([name, String(value)]);
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (!isGiven(value)) continue;
    // API Gateway merges the two, and counts the same pair once.
    const same = lines.some(([other, standing]) => other.toLowerCase() === name.toLowerCase() && standing === String(value));
    if (!same) lines.push([name, String(value)]);
  }
  for (const cookie of cookies ?? []) lines.push(['set-cookie', String(cookie)]);
  return lines;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

export const malformed = (why: string): TypeError => new TypeError(`The handler's answer is malformed: ${why}.`);

/** A reply that the platform has not seen yet: a replay, or a problem. */
export function resultFrom(shape: HttpShape, reply: HttpReply): APIGatewayProxyResult | APIGatewayProxyStructuredResultV2 | ALBResult {
  const lines = reply.headers;
  const isBase64Encoded = reply.attached === SAID_BASE64 || !isUtf8(reply.body);
  const bytes = Buffer.from(reply.body.buffer, reply.body.byteOffset, reply.body.byteLength);
  const { status: statusCode } = reply;
  const common = { statusCode, body: bytes.toString(isBase64Encoded ? 'base64' : 'utf8'), isBase64Encoded };
  if (shape === 'v2') return { ...common, ...headersOfV2(lines) };
  if (shape === 'v1') return { ...common, ...headersOfV1(lines) };
  // Loaded for a load balancer: it takes as long as all the rest.
  const { STATUS_CODES } = process.getBuiltinModule('node:http');
  const statusDescription = `${statusCode} ${STATUS_CODES[statusCode] ?? 'Unknown'}`;
  if (shape === 'alb') return { ...common, statusDescription, headers: joined(lines) };
  return { ...common, statusDescription, multiValueHeaders: Object.fromEntries(grouped(lines)) };
}

/** What a reply has beside its body, where that goes out as a stream. */
export function preludeFrom(shape: HttpShape, { status: statusCode, headers }: HttpReply): object {
  return { statusCode, ...(shape === 'v2' ? headersOfV2(headers) : headersOfV1(headers)) };
}

const isCookie = (name: string): boolean => name.toLowerCase() === 'set-cookie';

function headersOfV2(lines: readonly Line[]): Pick<APIGatewayProxyStructuredResultV2, 'headers' | 'cookies'> {
  const cookies = lines.filter(([name]) => isCookie(name)).map(([, value]) => value);
  const headers = joined(lines.filter(([name]) => !isCookie(name)));
  return cookies.length === 0 ? { headers } : { headers, cookies };
}

function headersOfV1(lines: readonly Line[]): Pick<APIGatewayProxyResult, 'headers' | 'multiValueHeaders'> {
  const groups = grouped(lines);
  const several = groups.filter(([name, values]) => values.length > 1 || isCookie(name));
  const headers = Object.fromEntries(groups.filter((group) => !several.includes(group)).map(([name, [value = '']]) => [name, value]));
  return several.length === 0 ? { headers } : { headers, multiValueHeaders: Object.fromEntries(several) };
}

/** One line per name. Cookies cannot be joined; where only one fits, it is the last. */
function joined(lines: readonly Line[]): Record<string, string> {
  return Object.fromEntries(grouped(lines).map(([name, values]) => [name, (isCookie(name) ? values.at(-1) : values.join(', ')) ?? '']));
}

/** Under the spelling that comes first. */
function grouped(lines: readonly Line[]): [name: string, values: string[]][] {
  const groups = new Map<string, [string, string[]]>();
  for (const [name, value] of lines) {
    const group = groups.get(name.toLowerCase());
    if (group === undefined) groups.set(name.toLowerCase(), [name, [value]]);
    else group[1].push(value);
  }
  return [...groups.values()];
}
