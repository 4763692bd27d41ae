/**
 * A store whose every request is noted in a history.
 *
 * @module
 */
import type { RecordStore, Stored, WriteResult } from '../../src/core/ports.ts';
import type { RecordToWrite } from '../../src/core/record.ts';
import type { Answered, Kept, Standing } from './format.ts';
import type { History } from './log.ts';

export const keptOf = ({ state, owner, revision, token, attempt, leaseMs, retentionMs, holder }: RecordToWrite): Kept => ({
  ...{ state, owner, revision, token, attempt, leaseMs, retentionMs },
  ...(holder === undefined ? {} : { holder }),
});

const standingOf = (stored: Stored | undefined): Standing =>
  stored === undefined ? null : { version: stored.version, revision: stored.record.revision, token: stored.record.token };

function answeredOf(result: WriteResult): Answered {
  if (result.ok) return { ok: true, version: result.version, ...(result.token === undefined ? {} : { token: result.token }) };
  return result.reason === 'conflict' ? { ok: false, current: standingOf(result.current) } : { ok: false, tooLarge: true };
}

export function noted<S extends RecordStore>(store: S, history: History, caller: string): S {
  const answered = (result: WriteResult) => ({ what: 'ok', answer: answeredOf(result) }) as const;
  return {
    ...store,
    read: (id, options) =>
      history.call(
        { op: 'read', caller, key: id },
        () => store.read(id, options),
        (stored) => ({ what: 'ok', answer: standingOf(stored) }),
      ),
    create: (id, record, options) =>
      history.call({ op: 'create', caller, key: id, record: keptOf(record) }, () => store.create(id, record, options), answered),
    replace: (id, record, version, options) =>
      history.call(
        { op: 'replace', caller, key: id, record: keptOf(record), over: version },
        () => store.replace(id, record, version, options),
        answered,
      ),
    delete: (id, version, options) =>
      history.call({ op: 'delete', caller, key: id, over: version }, () => store.delete(id, version, options), answered),
  };
}
