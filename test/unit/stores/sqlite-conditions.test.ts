import { describe, expect, it } from 'vitest';
import type { RecordId } from '../../../src/core/record.ts';
import { sqlite } from '../../../src/stores/sqlite/internals.ts';
import { freshId, sample } from '../../../src/testing/record-store/subject.ts';
import { sqliteStage } from './sqlite-subject.ts';

describe('sqliteStore, between its look and its write', () => {
  const stage = sqliteStage();

  it('I1 create is refused by the statement itself: a row that came after the look is not written over', async () => {
    const store = await stage.fresh();
    const internals = sqlite.of(store);
    if (internals === undefined) throw new Error('it carries nothing');
    const { connection, rows } = internals;
    const [id, first, second] = [freshId() as RecordId, sample(), sample()];
    // As `create` does when it has found nothing.
    const put = (record: typeof first) => connection.write(undefined, (session) => rows.put(session, id, record, undefined));
    expect(await put(first)).toMatchObject({ ok: true });
    expect(await put(second)).toMatchObject({ ok: false, current: { version: first.revision } });
    expect((await store.read(id))?.record.owner).toBe(first.owner);
  });
});
