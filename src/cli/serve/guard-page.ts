/**
 * Who may look, and who may write: this machine's browser, sent here by the address that was printed, and no page of somebody else's through it.
 *
 * @module
 */
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { isEqual, type Secret } from './secret.ts';

/** Hosts that a browser may have asked for: a name that was made to lead here (DNS rebinding) is none of them. Any port: of a tunnel it is another one. */
export function isOurHost(header: string | undefined, ours: ReadonlySet<string>): boolean {
  const name = /^(\[[\da-f:.]+\]|[^:]+)(?::\d{1,5})?$/i.exec(header ?? '')?.[1];
  return name !== undefined && ours.has(name.toLowerCase());
}

const HEADERS: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  // Not `no-referrer`: with it browsers send `Origin: null` with our own forms.
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

export const withHeaders: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
};

export const onlyOurHost =
  (ours: ReadonlySet<string>): MiddlewareHandler =>
  async (context, next) => {
    if (!isOurHost(context.req.header('host'), ours)) return context.text('rerunsafe serve: this is not a host that it answers for.\n', 421);
    return next();
  };

/** The token of the address becomes a cookie, and leaves the address: it would stand in the history, and on screenshots. */
export const onlyWithSecret =
  (secret: Secret, refuse: (context: Context) => Response | Promise<Response>): MiddlewareHandler =>
  async (context, next) => {
    const given = context.req.query('token');
    if (context.req.method === 'GET' && isEqual(given, secret.token)) {
      setCookie(context, secret.cookieName, secret.cookie, { httpOnly: true, sameSite: 'Strict', path: '/' });
      return context.redirect('/', 303);
    }
    return isEqual(getCookie(context, secret.cookieName), secret.cookie) ? next() : refuse(context);
  };

/** A browser says where a form came from, in one header or both. What says neither is no browser, and has no business here. */
export function isOwnForm(context: Context): boolean {
  const { origin, host, site } = {
    origin: context.req.header('origin'),
    host: context.req.header('host'),
    site: context.req.header('sec-fetch-site'),
  };
  if (origin === undefined && site === undefined) return false;
  return (site === undefined || site === 'same-origin') && (origin === undefined || origin === `http://${host}`);
}
