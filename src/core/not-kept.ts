/**
 * Work that is done, and whose value could not be kept: what to tell people.
 *
 * @module
 */
import { encode } from './codec.ts';
import type { NotKept } from './record.ts';

export const NOT_KEPT_BECAUSE: Readonly<Record<NotKept, string>> = {
  'too-large': 'it is larger than the store takes: return a reference to it',
  'not-serializable': 'it would not come back as it is: return plain data, no functions, promises or class instances',
  'not-taken': 'the store did not take it',
};

const warned = new Set<string>();

export interface NotKeptFacts {
  readonly operation: string;
  readonly notKept: NotKept;
  readonly step?: string;
  /** Where in the value, and what: `.total is an instance of Money`. */
  readonly notKeptAt?: string;
}

/** Once for an operation, and for each of its steps: the first caller is served, so nothing else would tell before a later one is refused. */
export function warnNotKept({ operation, notKept, step, notKeptAt }: NotKeptFacts): void {
  const what = step === undefined ? operation : `${operation}, step "${step}"`;
  if (warned.has(what)) return;
  warned.add(what);
  const later =
    step === undefined
      ? 'Later callers get RESULT_NOT_STORED.'
      : 'An attempt that has to begin again gets RESULT_NOT_STORED, and the run is blocked.';
  const hint = notKept === 'not-serializable' && step === undefined ? ', or give a codec' : '';
  const where = notKeptAt === undefined ? '' : ` ${notKeptAt}.`;
  process.emitWarning(`${what}: the work was done, but its value is not kept (${NOT_KEPT_BECAUSE[notKept]}${hint}).${where} ${later}`, {
    code: 'RERUNSAFE_NOT_STORED',
  });
}

const DEEPEST = 20;
const MOST_PLACES = 1_000;

/** For an event. */
export function notKeptAt(notKept: NotKept, value: unknown): { notKeptAt?: string } {
  const at = notKept === 'not-serializable' ? whereNotKept(value) : undefined;
  return at === undefined ? {} : { notKeptAt: at };
}

/** The first place in the value that would not come back. undefined: each of its parts would, only together they do not. */
function whereNotKept(value: unknown): string | undefined {
  const path: string[] = [];
  let at = value;
  while (path.length < DEEPEST) {
    const found = placesIn(at).find(([, kept]) => !encode(kept).ok);
    if (found === undefined) break;
    path.push(found[0]);
    at = found[1];
  }
  return path.length === 0 && placesIn(value).length > 0 ? undefined : `${path.join('') || 'It'} is ${kindOf(at)}`;
}

/** Nothing is called that could do something: values of getters are not looked at. */
function placesIn(value: unknown): [string, unknown][] {
  // The places of a view may be millions, and are numbers.
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  try {
    if (value instanceof Map) return [...value].slice(0, MOST_PLACES).map(([key, kept]) => [`.get(${String(key)})`, kept]);
    const own = Object.entries(Object.getOwnPropertyDescriptors(value)).slice(0, MOST_PLACES);
    return own.flatMap(([name, property]) => ('value' in property ? [[Array.isArray(value) ? `[${name}]` : `.${name}`, property.value]] : []));
  } catch {
    return [];
  }
}

function kindOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `a ${typeof value}`;
  try {
    const { name } = (Object.getPrototypeOf(value) as { constructor?: { name?: unknown } } | null)?.constructor ?? {};
    return typeof name === 'string' && name !== '' && name !== 'Object' ? `an instance of ${name}` : 'an object that has more than plain data';
  } catch {
    return 'a proxy';
  }
}
