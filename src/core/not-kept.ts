/**
 * Work that is done, and whose value could not be kept: what to tell people.
 *
 * @module
 */
export type NotKept = 'too-large' | 'not-serializable';

export const NOT_KEPT_BECAUSE: Readonly<Record<NotKept, string>> = {
  'too-large': 'it is larger than the store takes: return a reference to it',
  'not-serializable': 'it would not come back as it is: return plain data, no functions, promises or class instances, or give a codec',
};

const warned = new Set<string>();

/** Once for an operation: the first caller is served, so nothing else would tell before a later one is refused. */
export function warnNotKept(operation: string, reason: NotKept): void {
  if (warned.has(operation)) return;
  warned.add(operation);
  process.emitWarning(
    `${operation}: the work was done, but its value is not kept (${NOT_KEPT_BECAUSE[reason]}). Later callers get RESULT_NOT_STORED.`,
    {
      code: 'RERUNSAFE_NOT_STORED',
    },
  );
}
