/**
 * Where events are noted: in a file that every process appends to, or in memory.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { type Ended, type Event, hostMs, type Note, type Question } from './format.ts';

export interface History {
  note(note: Note): void;
  /** Notes that it was asked, and how it ended. What is thrown goes through. */
  call<T>(question: Question, call: () => Promise<T>, ended: (value: T) => Ended): Promise<T>;
  events(): Event[];
  close(): void;
}

function historyOver(write: (event: Event) => void, events: () => Event[], close: () => void): History {
  const note = (given: Note): void => write({ atMs: hostMs(), ...given } as Event);
  return {
    note,
    events,
    close,
    async call(question, call, ended) {
      const n = randomUUID();
      const { caller, key } = question;
      note({ what: 'invoke', n, ...question } as Note);
      let value: Awaited<ReturnType<typeof call>>;
      try {
        value = await call();
      } catch (error) {
        note({ caller, key, n, ...thrown(error) });
        throw error;
      }
      note({ caller, key, n, ...ended(value) });
      return value;
    },
  };
}

function thrown(error: unknown): Ended {
  if (!isRerunSafeError(error)) return { what: 'unknown', code: String(error) };
  if (error.code === 'WRITE_UNKNOWN') return { what: 'unknown', code: error.code };
  const { storedToken } = error.facts;
  return { what: 'fail', code: error.code, ...(typeof storedToken === 'number' ? { storedToken } : {}) };
}

/** For callers of one process that outlive the history. */
export function memoryHistory(): History {
  const events: Event[] = [];
  return historyOver(
    (event) => void events.push(event),
    () => events,
    () => {},
  );
}

/** A line whose write has returned outlives a SIGKILL of its process. */
export function fileHistory(path: string): History {
  const file = openSync(path, 'a');
  const write = (event: Event): void => {
    // A line of its own even after one that somebody's death has torn.
    const line = Buffer.from(`\n${JSON.stringify(event)}\n`);
    if (writeSync(file, line) !== line.length) throw new Error(`the history in ${path} could not be written`);
  };
  return historyOver(
    write,
    () => readHistory(path).events,
    () => closeSync(file),
  );
}

/** `torn`: lines that broke off, at most one for each process that was killed. */
export function readHistory(path: string): { events: Event[]; torn: string[] } {
  const events: Event[] = [];
  const torn: string[] = [];
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '') continue;
    try {
      events.push(JSON.parse(line) as Event);
    } catch {
      torn.push(line);
    }
  }
  return { events, torn };
}
