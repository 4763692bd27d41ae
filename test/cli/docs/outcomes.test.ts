import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stage } from './stage.ts';
import { PAGE } from './write.ts';

let stage: Stage;
beforeAll(() => {
  stage = new Stage();
  stage.write('site/wwwroot/package.json', '{}');
});
afterAll(() => stage.clean());

const code = async (line: string): Promise<number> => (await stage.sh(line)).code;

/** The table of the page: the cells of a row by the beginning of its first. */
function rowOf(begins: string): { now: string; status: string; next: string } {
  const rows = readFileSync(PAGE, 'utf8').match(new RegExp(`^\\| ${begins}.*$`, 'gm')) ?? [];
  expect(rows, begins).toHaveLength(1);
  const [, , now = '', , status = '', next = ''] = (rows[0] ?? '').split('|').map((cell) => cell.trim());
  return { now, status, next };
}

interface Row {
  readonly row: string;
  readonly options?: string;
  readonly command: string;
  readonly now: number;
  readonly status: number;
  readonly next: number;
}

const BLOCKED = { status: 3, next: 76 };

/** A command that ends as it is told to the first time, and with 0 afterwards. */
const first = (what: string): string => `sh -c '[ "$IDEMPOTENCY_ATTEMPT" = 1 ] || exit 0; ${what}'`;

const ROWS: readonly Row[] = [
  { row: 'ended with 0 \\[', command: 'true', now: 0, status: 0, next: 0 },
  { row: 'ended with another code', command: first('exit 7'), now: 7, status: 1, next: 0 },
  {
    row: 'ended with 0, and what `--creates`',
    options: '--creates "$HOME/is-made"',
    command: `sh -c '[ "$IDEMPOTENCY_ATTEMPT" = 1 ] || touch "$HOME/is-made"'`,
    now: 73,
    status: 1,
    next: 0,
  },
  { row: 'was killed by somebody else', command: first('kill -9 $$'), now: 137, ...BLOCKED },
  { row: 'was stopped by `--timeout`', options: '--timeout 100ms', command: first('exec sleep 30'), now: 124, ...BLOCKED },
  {
    row: 'was stopped because its lease was lost',
    options: '--lease 1s',
    command: first('kill -STOP $PPID; sleep 1; kill -CONT $PPID; exec sleep 30'),
    now: 125,
    ...BLOCKED,
  },
  {
    row: 'was stopped because `rerunsafe` got',
    command: first('trap "exit 0" TERM; kill -TERM $PPID; while :; do sleep 0.05; done'),
    now: 143,
    ...BLOCKED,
  },
];

/** Beyond the numbers: what a caller may choose. */
const POLICIES: readonly { row: string; policy: string; command: string; status: number; next: number }[] = [
  { row: 'ended with another code', policy: '--on-failure block', command: first('exit 7'), status: 76, next: 76 },
  { row: 'was killed by somebody else', policy: '--on-unknown retry', command: first('kill -9 $$'), status: 3, next: 0 },
];

/** Its first number; of a signal the sum of it. */
const numberIn = (cell: string, signal: number): number => (cell.startsWith('128 + n') ? 128 + signal : Number.parseInt(cell, 10));

describe.concurrent('the table of what becomes of a command', () => {
  it.each(ROWS)(
    'I2 I3 $row: exit code, status and the next call are those of the page',
    async ({ row, options = '', command, now, status, next }) => {
      const line = rowOf(row);
      const call = `rerunsafe run --key '${row}' ${options} -- ${command}`;
      expect([await code(call), await code(`rerunsafe status '${row}'`), await code(call)]).toEqual([now, status, next]);
      if (line.now !== 'its own') expect(numberIn(line.now, now - 128)).toBe(now);
      expect(Number.parseInt(line.status, 10)).toBe(status);
      expect(line.next).toMatch(next === 76 ? /^76; `--on-unknown retry`: runs$/ : now === 0 ? /^0, not run/ : /^runs; `--on-failure block`: 76$/);
    },
  );

  it.each(POLICIES)('I2 I3 $row: with $policy what the page says of it', async ({ row, policy, command, status, next }) => {
    const line = rowOf(row);
    expect(line.next).toContain(policy);
    if (status === 76) expect(line.status).toContain('(blocked: 76)');
    const call = `rerunsafe run --key 'policy of ${row}' ${policy} -- ${command}`;
    await code(call);
    expect([await code(`rerunsafe status 'policy of ${row}'`), await code(call)]).toEqual([status, next]);
  });

  it('I2 I3 killed with its lease running: running, then lapsed, then blocked, as the page says', { timeout: 60_000 }, async () => {
    expect(rowOf('ran while `rerunsafe` was killed with KILL')).toMatchObject({ status: '75, then 3', next: expect.stringMatching(/^75, then 76;/) });
    const call = `rerunsafe run --key killed --lease 10s -- ${first('kill -KILL $PPID; exec sleep 30')}`;
    // The shell lives on, to see how the guard ends.
    expect(await code(`${call}; exit $?`)).toBe(137);
    expect([await code('rerunsafe status killed'), await code(call)]).toEqual([75, 75]);
    // Its lease lasts from the last sign of life.
    for (let tries = 0; tries < 40 && (await code('rerunsafe status killed')) === 75; tries++) await sleep(500);
    expect([await code('rerunsafe status killed'), await code(call)]).toEqual([3, 76]);
  });
});

describe('a command', () => {
  it('I3 a command that did not come about leaves nothing, and another one under the same key is refused', async () => {
    expect(rowOf('could not be started').now).toBe('126, 127');
    expect(await code('rerunsafe run --key n -- no-such-command')).toBe(127);
    expect(await code('rerunsafe run --key n -- ./package.json')).toBe(126);
    expect(await code('rerunsafe status n')).toBe(3);
    expect(await code('rerunsafe run --key n -- true')).toBe(0);
    expect(await code('rerunsafe run --key n -- true again')).toBe(Number(rowOf('was something else under this key').now));
    expect((await stage.sh('rerunsafe run --key n --on-mismatch rerun -- echo again')).stdout).toBe('again\n');
  });

  it('I3 beyond --max-attempts a command that fails is blocked', async () => {
    const call = "rerunsafe run --key m --max-attempts 1 -- sh -c 'exit 7'";
    expect([await code(call), await code(call)]).toEqual([7, 76]);
  });
});
