/**
 * The id that senders of webhooks give their deliveries, as a key, on every platform. Take it after the signature was verified: an id that anybody may
 * choose is no key.
 *
 * @module
 */
import { RerunSafeError } from '../core/errors.ts';
import type { KeyPart } from '../core/key.ts';

/** `Headers` (of a `Request`), or plain ones as Node.js and Lambda have them. */
export type HeadersLike = { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;

const refuse = (what: string, why: string): RerunSafeError => new RerunSafeError('MISSING_KEY', `keys.${what}: ${why}. Nothing was run.`);

/**
 * CloudEvents in structured mode (the event is the body): source and id, which together are unique by its specification.
 *
 * @throws RerunSafeError `MISSING_KEY`
 * @example key: (event) => keys.cloudEvent(event)
 */
export function cloudEvent(event: unknown): readonly KeyPart[] {
  if (Array.isArray(event)) throw refuse('cloudEvent', 'it is a batch: take the key of each event');
  const { source, id } = fields(event);
  return [textOf('cloudEvent', 'source', source), textOf('cloudEvent', 'id', id)];
}

/** CloudEvents in binary mode: the headers `ce-source` and `ce-id`, as they were sent (escaped characters stay so). */
export const cloudEventHeaders = (headers: HeadersLike): readonly KeyPart[] => [
  headerOf('cloudEventHeaders', headers, 'ce-source', SENT_TWICE_URI),
  headerOf('cloudEventHeaders', headers, 'ce-id', SENT_TWICE_URI),
];

/** Stripe: the event's id (`evt_…`), the same in every delivery of it, to every endpoint. */
export function stripeEvent(event: unknown): readonly KeyPart[] {
  const { object, id } = fields(event);
  // The object that an event is about has an id too; it has many events.
  if (object !== 'event' && object !== 'v2.core.event') throw refuse('stripeEvent', 'the object is not an event of Stripe');
  return [textOf('stripeEvent', 'id', id)];
}

/** GitHub: `X-GitHub-Delivery`. The same when a delivery is sent again; another one for each webhook that an event goes to. */
export const gitHubDelivery = (headers: HeadersLike): readonly KeyPart[] => [headerOf('gitHubDelivery', headers, 'x-github-delivery')];

/** Standard Webhooks: `webhook-id`, the same in every try. */
export const standardWebhook = (headers: HeadersLike): readonly KeyPart[] => [headerOf('standardWebhook', headers, 'webhook-id')];

const fields = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

function textOf(what: string, name: string, value: unknown): string {
  if (value === undefined || value === null || value === '') throw refuse(what, `${name} is missing`);
  // 1 and "1" would be one key.
  if (typeof value !== 'string') throw refuse(what, `${name} must be a text, not of type ${typeof value}`);
  return value;
}

/** What is sent twice arrives as a list, or joined by commas; which of them is the id? */
const SENT_TWICE = /,/;
/** An address may have commas of its own, but no blank. */
const SENT_TWICE_URI = /,\s/;

function headerOf(what: string, headers: HeadersLike, name: string, sentTwice = SENT_TWICE): string {
  const found = valuesOf(headers, name);
  if (found.length > 1 || sentTwice.test(found[0] ?? '')) throw refuse(what, `the header ${name} was sent more than once`);
  return textOf(what, `the header ${name}`, found[0]?.trim());
}

function valuesOf(headers: HeadersLike, name: string): readonly string[] {
  if (typeof headers !== 'object' || headers === null) return [];
  if (typeof headers.get === 'function') {
    const value = (headers as { get(name: string): string | null }).get(name);
    return value === null || value === undefined ? [] : [value];
  }
  return Object.entries(headers as Readonly<Record<string, string | readonly string[] | undefined>>)
    .filter(([header, value]) => header.toLowerCase() === name && value !== undefined)
    .flatMap(([, value]) => value as string | readonly string[]);
}
