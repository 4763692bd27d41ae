import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storeUnavailable, writeUnknown } from '../../src/core/errors.ts';
import type { RecordStore } from '../../src/core/ports.ts';
import { memoryStore } from '../../src/stores/memory/index.ts';
import { runningRecord } from '../support/promises-case.ts';
import { callsOf } from './calls.ts';
import type { Note } from './format.ts';
import { fileHistory, memoryHistory, readHistory } from './log.ts';
import { noted } from './record-store.ts';
import { judgeRegister } from './register.ts';

const NOTE: Note = { what: 'began', caller: 'a', key: 'k', attempt: 1 };

describe('a history', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rerunsafe-history-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('I8 has every whole line, and one that its writer did not live to end damages no other', () => {
    const path = join(folder, 'torn');
    const [a, b] = [fileHistory(path), fileHistory(path)];
    a.note(NOTE);
    for (const torn of ['\n{"atMs":1,"caller":"dead","wh', '\n{', '\n{"atMs":1}x']) {
      appendFileSync(path, torn);
      b.note({ ...NOTE, caller: 'b' });
    }
    appendFileSync(path, '\n{"atMs":2');
    expect(readHistory(path).events.map(({ caller }) => caller)).toEqual(['a', 'b', 'b', 'b']);
    expect(readHistory(path).torn).toHaveLength(4);
    expect(a.events()).toHaveLength(4);
    a.close();
    b.close();
  });

  it('I8 knows of each call whether it was answered, refused, or nobody knows', async () => {
    const history = memoryHistory();
    const ask = (call: () => Promise<unknown>): Promise<unknown> =>
      history.call({ op: 'read', caller: 'a', key: 'k' }, call, () => ({ what: 'ok', answer: null })).catch(String);
    await ask(async () => 1);
    await ask(() => Promise.reject(storeUnavailable('read', undefined)));
    await ask(() => Promise.reject(writeUnknown('read', undefined)));
    await ask(() => Promise.reject(new TypeError('mine')));
    void ask(() => new Promise(() => {}));
    expect(callsOf(history.events()).map(({ end, endMs, by }) => [end, Number.isFinite(endMs), by !== undefined])).toEqual([
      ['ok', true, true],
      ['fail', true, true],
      ['unknown', false, true],
      ['unknown', false, true],
      ['unknown', false, false],
    ]);
  });

  it('I4 I5 shows in which order a store accepted what, with the token that stands there', async () => {
    const history = memoryHistory();
    const plain = memoryStore();
    const raising: RecordStore = {
      ...plain,
      async create(id, record, options) {
        const result = await plain.create(id, { ...record, token: 77 }, options);
        return result.ok ? { ...result, token: 77 } : result;
      },
    };
    const store = noted(raising, history, 'a');
    const records = [1, 2, 3].map((attempt) => runningRecord(store, { attempt, token: attempt }));
    const [first, second, third] = records as [(typeof records)[0], (typeof records)[0], (typeof records)[0]];
    const created = await store.create('k', first);
    const version = created.ok ? created.version : '';
    const replaced = await store.replace('k', second, version);
    expect(await store.replace('k', third, version)).toMatchObject({ ok: false });
    await store.delete('k', replaced.ok ? replaced.version : '');
    const judged = judgeRegister('k', callsOf(history.events()), { sent: 'once', showsAtOnce: true });
    expect(judged.violations).toEqual([]);
    expect(judged.accepted.map(({ record }) => record?.token)).toEqual([77, 2, undefined]);
  });
});
