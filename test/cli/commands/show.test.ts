import { describe, expect, it } from 'vitest';
import { list } from '../../../src/cli/commands/list.ts';
import { show } from '../../../src/cli/commands/show.ts';
import { status } from '../../../src/cli/commands/status.ts';
import { tryAcquire } from '../../../src/core/lease.ts';
import type { RecordStore } from '../../../src/core/ports.ts';
import type { RecordToWrite } from '../../../src/core/record.ts';
import { both, commandStage, end, idOf, KEPT, printed, run, runs, succeed } from './stage.ts';

/** Sets the title, clears the screen, writes to the clipboard, moves the cursor, in both alphabets of control characters; and turns the text round. */
const HOSTILE = 'a\x1b]0;title\x07b\x1b[2J\x1b]52;c;ZXZpbA==\x1b\\c\x9b31md\u0085e\rf\nroot: done\tg\u202eh\x1b\x1b[31m[31mi\x00';
/** All but the end of a line: colours too, since these are none of ours. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
const COMMANDS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

describe('show', () => {
  const stage = commandStage();
  const ask = (key: string) => both((out) => show({ place: stage.place, what: run(key), out }));

  it('shows what a command left: who, when, how long, and the end of its output in the order in which it came', async () => {
    await runs(stage.store, 'kept', async () => KEPT, { scope: 'team' } as never);
    await succeed(stage.store, 'kept');
    const said = await ask('kept');
    expect(said.exitCode).toBe(0);
    for (const line of [
      /^state +done$/m,
      /^key +kept$/m,
      /^attempt +1$/m,
      /^exit code +0$/m,
      /^command +make deploy$/m,
      /^took +12s$/m,
      /^by +ann@build-7 pid 4711$/m,
      /^commit +c0ffee$/m,
    ]) {
      expect(said.text).toMatch(line);
    }
    expect(said.text).toMatch(/^output +building\n +half of a line, and its end\n$/m);
    const tail = [
      { stream: 'stdout', bytes: 'YnVpbGRpbmcKaGFsZiBvZiBhIGxpbmUsIA==' },
      { stream: 'stderr', bytes: 'YW5kIGl0cyBlbmQK' },
    ];
    expect(said.json).toMatchObject({
      kind: 'run',
      state: 'done',
      key: 'kept',
      attempt: 1,
      scope: null,
      steps: [],
      outcome: { kind: 'value', value: { ...KEPT, tail } },
    });
    expect(await ask('nothing')).toMatchObject({ exitCode: 3, json: { state: 'none', id: idOf('nothing') } });
  });

  it('shows values of programs, large ones too, steps, errors, notes and words; never the owner, with which anybody could write', async () => {
    const value = { at: new Date(0), big: 7n, bytes: new Uint8Array([1, 2]), map: new Map([['a', Number.NaN]]), none: undefined };
    await succeed(stage.store, 'value', value);
    expect((await ask('value')).json.outcome).toMatchObject({
      value: { at: '1970-01-01T00:00:00.000Z', big: '7', bytes: 'AQI=', map: [['a', 'NaN']], none: null },
    });
    await succeed(stage.store, 'packed', { text: 'long '.repeat(20_000) });
    expect((await ask('packed')).json).toMatchObject({ outcome: { value: { text: 'long '.repeat(20_000) } } });
    await runs(
      stage.store,
      'steps',
      async (its) => {
        await its.step('reserve', () => 1);
        await its.step(
          'charge',
          async () => {
            throw new Error('timeout');
          },
          { mode: 'atMostOnce' },
        );
      },
      { onThrow: () => ({ as: 'block', note: 'exit code 3' }) },
    ).catch(() => {});
    const steps = await ask('steps');
    expect(steps.json).toMatchObject({
      state: 'blocked',
      note: 'exit code 3',
      blockedWhy: 'failed',
      steps: [
        { name: 'reserve', state: 'done' },
        { name: 'charge', state: 'begun' },
      ],
    });
    expect(steps.text).toMatch(/^step +charge: was begun, and nobody knows what it did$/m);
    await end(stage.store, 'error', 'remember');
    const error = await ask('error');
    expect(error.text).toMatch(/^error +CardError \(declined\)\nmessage +card was declined$/m);
    for (const key of ['value', 'steps', 'error']) {
      const { record } = (await stage.store.read(idOf(key))) as NonNullable<Awaited<ReturnType<RecordStore['read']>>>;
      expect(JSON.stringify(await ask(key))).not.toContain(record.owner);
    }
  });

  it('what is damaged, or from another world, is shown for what it is and does not end the command', async () => {
    const base: RecordToWrite = {
      schema: 1,
      operation: 'script',
      scope: '',
      state: 'completed',
      owner: 'o',
      revision: 'r',
      token: 1,
      attempt: 1,
      leaseMs: 1,
      retentionMs: Number.MAX_SAFE_INTEGER,
      createdAtMs: 9e15,
    };
    const outcomes: readonly unknown[] = [
      { kind: 'packed', packed: 'AAAA' },
      { kind: 'parts', of: 'value', owner: 'o', hash: 'h', bytes: 9, count: 1 },
      { kind: 'value', value: [[9]] },
      { kind: 'from-the-future' },
      { kind: 'not-stored', reason: 'because' },
    ];
    for (const [n, outcome] of outcomes.entries()) {
      const key = `damaged ${n}`;
      await stage.store.create(idOf(key), { ...base, revision: `r${n}`, outcome: outcome as never });
      const said = await ask(key);
      expect(said.exitCode).toBe(0);
      expect(said.text).toMatch(/^created +at no valid time$/m);
      expect(said.json.createdAt).toBeNull();
      const { exitCode } = await both((out) => status({ place: stage.place, what: run(key), out }));
      expect(exitCode).toBe(n === 4 ? 0 : 3);
    }
  });

  it('a terminal is not driven by what is stored: not by keys, notes, holders, reasons, steps, values, errors, output', async () => {
    const record: RecordToWrite = {
      schema: 1,
      operation: `op${HOSTILE}`,
      scope: HOSTILE,
      label: HOSTILE,
      state: 'completed',
      owner: 'o',
      revision: 'h',
      token: 1,
      attempt: 1,
      leaseMs: 1,
      retentionMs: 9e12,
      createdAtMs: 1,
      holder: HOSTILE,
      note: HOSTILE,
      fingerprint: HOSTILE,
      word: { did: 'resolve', by: HOSTILE, why: HOSTILE, atMs: 1 },
      steps: { [HOSTILE]: { begun: 1 } },
    };
    const bytes = new TextEncoder().encode(HOSTILE);
    const values: readonly unknown[] = [
      { ...KEPT, host: HOSTILE, user: HOSTILE, command: HOSTILE, gitSha: HOSTILE, startedAt: HOSTILE, tail: [{ stream: 'stdout', bytes }] },
      { [HOSTILE]: HOSTILE },
    ];
    const ids: string[] = [];
    for (const [n, value] of values.entries()) {
      await succeed(stage.store, `value ${n}`, value);
      const { outcome } = ((await stage.store.read(idOf(`value ${n}`))) as { record: RecordToWrite }).record;
      const id = idOf(`hostile ${n}`);
      ids.push(id);
      await stage.store.create(id, { ...record, revision: `h${n}`, ...(outcome === undefined ? {} : { outcome }) });
    }
    const error = { kind: 'error', error: { name: HOSTILE, message: HOSTILE, code: HOSTILE } } as const;
    ids.push(idOf('hostile error'), idOf('hostile blocked'));
    await stage.store.create(idOf('hostile error'), { ...record, revision: 'he', outcome: error });
    await stage.store.create(idOf('hostile blocked'), { ...record, revision: 'hb', state: 'blocked' });
    await stage.place.leases.acquire('plain', { owner: 'o', leaseMs: 60_000, label: HOSTILE });
    await tryAcquire(stage.place.leases, 'free', { label: 'ann' });
    const asks = [
      ...ids.flatMap((id) =>
        [show, status].map((command) => (out: ReturnType<typeof printed>['out']) => command({ place: stage.place, what: { kind: 'id', id }, out })),
      ),
      (out: ReturnType<typeof printed>['out']) => status({ place: stage.place, what: run(HOSTILE), out }),
      (out: ReturnType<typeof printed>['out']) => status({ place: stage.place, what: { kind: 'lease', name: 'plain' }, out }),
      (out: ReturnType<typeof printed>['out']) => list({ place: stage.place, leases: true, out }),
      (out: ReturnType<typeof printed>['out']) => list({ place: stage.place, out }),
    ];
    for (const ask of asks) {
      for (const as of [{}, { json: true }, { columns: 120 }]) {
        const said = printed(as);
        await ask(said.out);
        // Of colours, only our own.
        // biome-ignore lint/suspicious/noControlCharactersInRegex: those of styleText
        const text = 'columns' in as ? said.text().replace(/\x1b\[(2|22|3[1-6]|39)m/g, '') : said.text();
        expect(text).not.toBe('');
        // A list is parted by tabs, and has as many in each line.
        const tabs = new Set(said.lines().map((line) => line.split('\t').length));
        expect(tabs.size).toBe(1);
        expect(text.replaceAll('\t', '')).not.toMatch(COMMANDS);
        if (!('json' in as)) expect(text).not.toMatch(/^root: done/m);
        else for (const line of said.json()) expect(JSON.stringify(line)).not.toBe('');
      }
    }
  });
});
