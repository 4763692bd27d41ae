/**
 * Any JavaScript string in a `text` column: PostgreSQL holds no NUL, and UTF-8 no half of a surrogate pair, which the driver would replace without a
 * word. Those are written as JSON writes them, and everything else as it is, so that operators read it.
 *
 * @module
 */
const UNHELD = /\0|\p{Surrogate}|\\(?=u)/gu;
const HELD_AS = /\\u([0-9a-f]{4})/g;

/** `\u` that stands there by itself becomes `\u005cu`, so that {@link unescaped} gives back exactly what went in. */
export const escaped = (value: string): string => value.replace(UNHELD, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);

export const unescaped = (value: string): string => value.replace(HELD_AS, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
