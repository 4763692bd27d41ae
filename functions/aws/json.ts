/**
 * JSON over HTTP.
 *
 * @module
 */
export const json = (statusCode: number, body: object) => ({
  statusCode,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** undefined for what is no JSON. */
export function parsed(body: string | null | undefined): unknown {
  try {
    return JSON.parse(body ?? '');
  } catch {
    return undefined;
  }
}
