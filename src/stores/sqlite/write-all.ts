/**
 * Several records in one transaction, which waits for the disk once.
 *
 * @module
 */
import { isRerunSafeError, storeUnavailable } from '../../core/errors.ts';
import type { RecordWrite, WriteResult } from '../../core/ports.ts';
import { whenAllHaveLeft } from '../../core/together.ts';
import type { Connection } from './connection.ts';
import { isBusy } from './map-error.ts';
import type { Rows } from './rows.ts';
import { bytesOf, toValues } from './table.ts';

/** Of one transaction: it runs inside the event loop, which stands still for so long. What is over it goes by itself. */
const MOST_BYTES = 1_048_576;

interface Place {
  readonly connection: Connection;
  readonly rows: Rows;
}
/** Gives the answer, or throws it. */
type Answers = ReadonlyMap<RecordWrite, () => WriteResult>;

export function writeAll(place: Place, writes: readonly RecordWrite[]): Promise<WriteResult | undefined>[] {
  const small = new Set(asManyAsFit(writes));
  const looked = look(place, [...small]);
  const put = looked.then((found) =>
    write(
      place,
      [...small].filter((one) => !found.has(one)),
    ),
  );
  put.catch(() => {});
  return writes.map(async (one) => {
    if (!small.has(one)) return undefined;
    const answer = (await looked).get(one) ?? (await put).get(one);
    return answer?.();
  });
}

function asManyAsFit(writes: readonly RecordWrite[]): RecordWrite[] {
  let bytes = 0;
  return writes.filter(({ record }) => {
    const own = bytesOf(toValues(record, 0));
    if (bytes + own > MOST_BYTES) return false;
    bytes += own;
    return true;
  });
}

/** As for one: what stands already is refused by a look, so that replays do not queue for the write lock. */
async function look({ connection, rows }: Place, writes: readonly RecordWrite[]): Promise<Answers> {
  const made = writes.filter(({ version }) => version === undefined);
  if (made.length === 0) return new Map();
  return connection.read(undefined, (session) =>
    answersTo(made, ({ id }) => {
      const current = rows.find(session, id);
      return current && { ok: false, reason: 'conflict', current };
    }),
  );
}

async function write({ connection, rows }: Place, writes: readonly RecordWrite[]): Promise<Answers> {
  if (writes.length === 0) return new Map();
  const waited = whenAllHaveLeft(writes);
  try {
    return await connection.write(waited, (session) =>
      answersTo(writes, ({ id, record, version, signal }) => {
        if (signal?.aborted) throw storeUnavailable('it was given up before it was sent', signal.reason);
        return rows.put(session, id, record, version);
      }),
    );
  } catch (error) {
    // All of it is rolled back for what one of them met, a trigger perhaps: then each is asked by itself.
    if (isRerunSafeError(error) && error.code !== 'WRITE_UNKNOWN' && !isBusy(error.cause)) return new Map();
    throw error;
  } finally {
    waited.done();
  }
}

/** What is wrong with a row that stands there is about that one alone; what SQLite throws ends the transaction. */
function answersTo(writes: readonly RecordWrite[], ask: (write: RecordWrite) => WriteResult | undefined): Answers {
  const answers = new Map<RecordWrite, () => WriteResult>();
  for (const one of writes) {
    try {
      const answer = ask(one);
      if (answer !== undefined) answers.set(one, () => answer);
    } catch (error) {
      if (!isRerunSafeError(error)) throw error;
      answers.set(one, () => {
        throw error;
      });
    }
  }
  return answers;
}
