import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { userAtHost } from '../../../src/cli/commands/answer.ts';
import { recordId } from '../../../src/core/key.ts';
import { tryAcquire } from '../../../src/core/lease.ts';
import { resolveRun } from '../../../src/core/person.ts';
import { begin, commandStage, end, idOf, OPERATION, runs } from '../commands/stage.ts';
import { type Answered, type Served, startPage } from './stage.ts';

describe("a person's word on the page", () => {
  const stage = commandStage();
  let page: Served;
  beforeAll(async () => {
    page = await startPage(stage.place, { allowWrites: true });
  });
  afterAll(async () => {
    await page.stop();
  });
  const read = async (key: string) => (await stage.store.read(idOf(key)))?.record;
  const say = async (key: string, verb: 'resolve' | 'forget', form: Record<string, string>, shown?: Answered): Promise<Answered> => {
    const { hidden } = shown ?? (await page.get(`/record/${idOf(key)}`));
    return page.post(`/record/${idOf(key)}/${verb}`, { ...hidden, why: 'looked at the log', by: 'ann', ...form });
  };

  it('I8 resolves as done, keeps who and why, and the next run is not run', async () => {
    await end(stage.store, 'done', 'block');
    const answer = await say('done', 'resolve', { as: 'done' });
    expect(answer.status).toBe(303);
    expect(await read('done')).toMatchObject({ state: 'completed', word: { did: 'resolve', by: 'ann', why: 'looked at the log' } });
    const after = await page.get(String(answer.headers.get('location')));
    expect(after.text).toContain('It is done, by your word');
    expect(after.text).toContain('resolved as done by the word of ann: looked at the log');
    expect(await runs(stage.store, 'done', () => expect.fail('it ran'))).toMatchObject({ kind: 'completed', replayed: true });
    expect(page.lines().at(-1)).toMatchObject({
      kind: 'word',
      did: 'resolve as done',
      to: idOf('done'),
      by: 'ann',
      why: 'looked at the log',
      result: 'written',
    });
  });

  it('I8 resolves as not done, and the next run runs', async () => {
    await end(stage.store, 'not done', 'unknown');
    expect((await say('not done', 'resolve', { as: 'not-done' })).status).toBe(303);
    expect(await runs(stage.store, 'not done', async () => 7)).toMatchObject({ kind: 'completed', value: 7, replayed: false });
  });

  it('forgets', async () => {
    await end(stage.store, 'forget', 'block');
    expect((await say('forget', 'forget', {})).status).toBe(303);
    expect(await read('forget')).toMatchObject({ state: 'released', word: { did: 'forget', by: 'ann' } });
  });

  it("gives an application's callers what the work would have returned, and asks for it", async () => {
    await end(stage.store, 'x', 'block');
    const id = recordId('orders', [], ['1']);
    await runs(stage.store, '1', () => Promise.reject(new Error('x')), { operation: 'orders', onThrow: () => 'block' } as never).catch(() => {});
    const { hidden, text } = await page.get(`/record/${id}`);
    expect(text).toContain('as JSON');
    const form = { ...hidden, as: 'done', why: 'w', by: 'ann' };
    const missing = await page.post(`/record/${id}/resolve`, form);
    expect([missing.status, (await stage.store.read(id))?.record.state]).toEqual([400, 'blocked']);
    expect((await page.post(`/record/${id}/resolve`, { ...form, value: '{nonsense' })).status).toBe(400);
    expect((await page.post(`/record/${id}/resolve`, { ...form, value: '{"paid":true}' })).status).toBe(303);
    expect(await runs(stage.store, '1', () => expect.fail('it ran'), { operation: 'orders' })).toMatchObject({
      replayed: true,
      value: { paid: true },
    });
  });

  it.each<readonly [string, Record<string, string>]>([
    ['no reason', { why: '  ' }],
    ['nobody who says so', { by: '' }],
    ['a reason that is too long', { why: 'x'.repeat(1_001) }],
    ['no answer', { as: '' }],
    ['an answer that there is not', { as: 'constructor' }],
  ])('takes no word with %s, keeps what was typed, and changes nothing', async (_, wrong) => {
    await end(stage.store, 'incomplete', 'block');
    const answer = await say('incomplete', 'resolve', { as: 'not-done', ...wrong });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('role="alert"');
    if (wrong.why === undefined) expect(answer.text).toContain('value="looked at the log"');
    expect((await read('incomplete'))?.state).toBe('blocked');
  });

  it('I4 says nothing over what has changed since the page was made', async () => {
    await end(stage.store, 'stale', 'unknown');
    const shown = await page.get(`/record/${idOf('stale')}`);
    await resolveRun({ store: stage.store, operation: OPERATION, key: 'stale' }, 'not-done');
    await end(stage.store, 'stale', 'block');
    const before = await read('stale');
    for (const verb of ['resolve', 'forget'] as const) {
      const answer = await say('stale', verb, { as: 'done' }, shown);
      expect(answer.status).toBe(409);
      expect(answer.text).toContain('It has changed since the page was made');
      expect(await read('stale')).toEqual(before);
    }
    expect((await say('stale', 'resolve', { as: 'done', seen: '' }, shown)).status).toBe(409);
    expect((await say('stale', 'resolve', { as: 'done' })).status).toBe(303);
  });

  it('of two who say it at once, one is taken', async () => {
    await end(stage.store, 'two', 'block');
    const shown = await page.get(`/record/${idOf('two')}`);
    const answers = await Promise.all([say('two', 'resolve', { as: 'done' }, shown), say('two', 'resolve', { as: 'not-done' }, shown)]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([303, 409]);
  });

  it('leaves alone what is running', async () => {
    const running = await begin(stage.store, 'runs');
    const { text } = await page.get(`/record/${idOf('runs')}`);
    expect(text).not.toContain('method="post"');
    const other = await page.get('/');
    expect(other.status).toBe(200);
    await running.finish();
  });

  it('writes to no row of a lease, and to nothing that is not there', async () => {
    const { hidden } = await page.get(`/record/${idOf('incomplete')}`);
    const answer = await page.post(`/record/${idOf('never')}/forget`, { ...hidden, why: 'w', by: 'b' });
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('nothing is kept under that name');
    expect(await stage.store.read(idOf('never'))).toBeUndefined();
  });

  it('names the user of this process unless told otherwise', async () => {
    expect((await page.get(`/record/${idOf('incomplete')}`)).text).toContain(`name="by" required maxlength="200"`);
    expect((await page.get(`/record/${idOf('incomplete')}`)).text).toContain(`value="${userAtHost()}"`);
  });

  it('unlocks the holder that was shown, says so in its log, and leaves another one alone', async () => {
    const first = await tryAcquire(stage.place.leases, 'lock & "x"', { leaseMs: 60_000, label: 'db-1' });
    const path = `/lock?${new URLSearchParams({ name: 'lock & "x"' })}`;
    const shown = await page.get(path);
    expect(shown.text).toContain('>held</span>');
    const form = { ...shown.hidden, name: 'lock & "x"', why: 'db-1 is gone', by: 'ann' };
    expect((await page.post('/lock/unlock', { ...form, why: '' })).status).toBe(400);
    expect((await page.post('/lock/unlock', { ...form, token: '' })).status).toBe(400);
    expect((await page.post('/lock/unlock', { ...form, token: '1' })).status).toBe(409);
    expect((await stage.place.leases.read('lock & "x"'))?.held).toBe(true);
    const answer = await page.post('/lock/unlock', form);
    expect(answer.status).toBe(303);
    expect((await page.get(String(answer.headers.get('location')))).text).toContain('Freed, by your word.');
    expect(page.lines().at(-1)).toMatchObject({ did: 'unlock', to: 'lock & "x"', by: 'ann', why: 'db-1 is gone', result: 'broken' });
    const next = await tryAcquire(stage.place.leases, 'lock & "x"', { leaseMs: 60_000, label: 'db-2' });
    expect(next.kind).toBe('acquired');
    expect((await page.post('/lock/unlock', form)).status).toBe(409);
    expect((await stage.place.leases.read('lock & "x"'))?.label).toBe('db-2');
    if (first.kind === 'acquired') await first.lease.release();
    if (next.kind === 'acquired') await next.lease.release();
  });
});
