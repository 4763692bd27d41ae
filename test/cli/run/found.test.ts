import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../child/processes.ts';
import { letGo, reached, Wrappers } from '../processes/wrappers.ts';

const MAIN = new URL('../../../dist/cli/main.js', import.meta.url).pathname;
const cli = `'${process.execPath}' --disable-warning=ExperimentalWarning '${MAIN}'`;

let wrappers: Wrappers;
beforeAll(() => {
  wrappers = new Wrappers();
});
afterAll(() => wrappers?.clean());

/** A shell around it, with this process's environment for such calls. */
async function shell(script: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve) => {
    const env = { PATH: process.env.PATH, HOME: wrappers.folder, XDG_STATE_HOME: wrappers.folder };
    execFile('sh', ['-c', script], { cwd: wrappers.folder, env, timeout: 25_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
    });
  });
}

it('I6 who does not read what we say keeps no command beyond its time or its lease', async () => {
  const [log, fifo] = [wrappers.path('stalled.log'), wrappers.path('stalled.fifo')];
  // The pipe is full before we say a word; nobody reads it until the end.
  const command = `head -c 65536 /dev/zero >&2; while :; do echo on >> ${log}; sleep 0.05; done`;
  const started = performance.now();
  const { stdout } = await shell(`mkfifo ${fifo}; sleep 20 < ${fifo} & reader=$!
    ${cli} lock stalled --lease 3s --timeout 1s --kill-after 1s -- sh -c '${command}' 2> ${fifo}; echo "$?"; kill $reader`);
  expect(stdout).toBe('124\n');
  expect(performance.now() - started).toBeLessThan(15_000);
  const lines = readFileSync(log, 'utf8').length;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(readFileSync(log, 'utf8').length).toBe(lines);
});

it('I3 a slot whose lease was taken meanwhile is not told as done', async () => {
  const args = ['run', '--mode', 'slot', '--key', 'taken', '--slot', '1h', '--json', '--'];
  const script = `"$NODE" "$MAIN" unlock taken --force >&2; exit 0`;
  const { code, report } = await wrappers.start([...args, 'sh', '-c', script], { env: { NODE: process.execPath, MAIN } }).ended;
  expect([code, report?.became]).toEqual([125, 'unknown']);
  expect(report?.message).toContain('its slot is not marked');
  const again = await wrappers.ask(...args, 'echo', 'again');
  expect([again.code, again.stdout]).toEqual([0, 'again\n']);
});

it('I1 of two calls with the same new input one runs, also where the other has looked before and forgets late', async () => {
  const run = (value: string, ...more: string[]) => ['run', '--key', 'late', '--json', '--fp-value', value, ...more, '--', 'sh', '-c', 'echo ran'];
  await wrappers.ask(...run('old'));
  const folder = wrappers.path('late');
  mkdirSync(folder);
  const late = wrappers.start(run('new', '--on-mismatch', 'rerun'), { staged: { folder, at: 'claimed', does: 'wait' } });
  await reached(folder);
  const first = await wrappers.ask(...run('new', '--on-mismatch', 'rerun'));
  expect(first.report?.became).toBe('succeeded');
  letGo(folder);
  const second = await late.ended;
  expect([second.report?.became, second.stdout]).toEqual(['already-done', '']);
});

it('I8 what could not be asked after the command has run is no refusal: nobody knows, and the key says so', async () => {
  const folder = wrappers.path('removed');
  const { stdout, stderr } = await shell(`mkdir ${folder}; cd ${folder}
    ${cli} run --json --key removed --verify true -- sh -c 'echo ran; rmdir ${folder}'; echo "$?"`);
  expect(stdout).toBe('ran\n125\n');
  expect(stderr).toContain('"became":"unknown"');
  expect((await wrappers.ask('status', 'removed')).code).toBe(3);
});

it('what fails in us never has the exit code of the command, or of an answer', async () => {
  await wrappers.ask('run', '--key', 'told', '--', 'true');
  const told = (to: string): string => `{ ${cli} status told; echo "$?" >&2; } ${to}`;
  expect((await shell(told('| true'))).stderr).toBe('0\n');
  if (existsSync('/dev/full')) expect((await shell(`${cli} status told > /dev/full; echo "$?"`)).stdout).toBe('125\n');
  const gone = wrappers.path('gone');
  expect(
    (await shell(`mkdir ${gone}; cd ${gone}; rmdir ${gone}; ${cli} status told; echo "$?"; ${cli} run --key told -- true; echo "$?"`)).stdout,
  ).toBe('78\n78\n');
});

it('a place where no folder can be made is told, and not tried for ever', async () => {
  const { stdout, stderr } = await shell(`unset XDG_STATE_HOME; export HOME=/proc/nope; ${cli} run --key k -- true; echo "$?"`);
  expect([stdout, stderr]).toEqual(['78\n', expect.stringContaining('XDG_STATE_HOME')]);
  expect((await shell(`unset XDG_STATE_HOME; export HOME=here; ${cli} run --key k -- true; echo "$?"`)).stdout).toBe('78\n');
});

it('I12 before there is anything to give back a signal just ends us', async () => {
  const big = wrappers.path('big');
  await shell(`truncate -s 20G ${big}`);
  const hashing = wrappers.start(['run', '--key', 'big', '--fp-file', big, '--', 'true']);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  hashing.kill('SIGTERM');
  expect(await hashing.ended).toMatchObject({ code: null, signal: 'SIGTERM' });
  rmSync(big);
});

it('I6 a file lock is free when its guard is killed, so the command is killed with it, whatever it makes of TERM', async () => {
  const [log, store] = [wrappers.path('file.log'), `file:${wrappers.path('locks')}`];
  await wrappers.ask('set-up', '--store', store);
  const script = `trap "" TERM; while :; do echo on >> ${log}; sleep 0.02; done`;
  const guard = wrappers.start(['lock', 'kernel', '--store', store, '--kill-after', '60s', '--', 'sh', '-c', script]);
  await until(() => existsSync(log), 'it runs');
  guard.kill('SIGKILL');
  await guard.ended;
  await until(() => wrappers.alive().length === 0, 'the command is dead', 3_000);
  expect((await wrappers.ask('lock', 'kernel', '--store', store, '--', 'true')).code).toBe(0);
});

it('I12 what others have stored drives no terminal', async () => {
  const key = 'k\u001b[31m\u009b2J';
  writeFileSync(wrappers.path('x'), '');
  await wrappers.ask('run', '--key', key, '--', 'true');
  const { stderr } = await wrappers.ask('run', '--key', key, '--', 'true');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what it is about.
  expect(stderr.replace(/\n$/, '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
});

it('in a log file that others write to as well nothing is written over', async () => {
  const log = wrappers.path('job.log');
  await shell(`(${cli} run --key log -- sh -c 'echo its own words; exit 3'; echo more) > ${log} 2>&1`);
  expect(readFileSync(log, 'utf8')).toBe('its own words\nrerunsafe: "log": exit code 3: it failed, and may run again\nmore\n');
});

it('completion never runs what is being typed', async () => {
  const bin = wrappers.path('bin');
  mkdirSync(bin);
  writeFileSync(`${bin}/rerunsafe`, `#!/bin/sh\nexec ${cli} "$@"\n`, { mode: 0o755 });
  const typed = wrappers.path('typed');
  const script = wrappers.path('complete.bash');
  writeFileSync(
    script,
    `source <(rerunsafe complete bash)
COMP_WORDS=(rerunsafe run --key 'k$(touch ${typed})' --on-f) COMP_CWORD=4; _rerunsafe; echo "\${COMPREPLY[@]}"
COMP_WORDS=(rerunsafe run --on-failure '') COMP_CWORD=3; _rerunsafe; echo "\${COMPREPLY[@]}"
`,
  );
  expect((await shell(`PATH=${bin}:$PATH bash ${script}`)).stdout).toBe('--on-failure\nretry block\n');
  expect(existsSync(typed)).toBe(false);
});

it('a Node that is too old is told so, and nothing is run', async () => {
  const old = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.1.0"}})`;
  const { stdout, stderr } = await shell(`'${process.execPath}' --import '${old}' '${MAIN}' run --key old -- echo ran; echo "$?"`);
  expect([stdout, stderr]).toEqual(['78\n', 'rerunsafe: Node 22.13 or newer is needed, and this is 20.1.0. Nothing was run.\n']);
});

it('I8 who was overtaken and failed is not told that the key may run again', async () => {
  const script = '"$NODE" "$MAIN" resolve overtaken --as done --force >&2; exit 3';
  const { code, report } = await wrappers.start(['run', '--key', 'overtaken', '--json', '--', 'sh', '-c', script], {
    env: { NODE: process.execPath, MAIN },
  }).ended;
  expect(code).toBe(3);
  expect(report?.message).toContain('somebody else may have it by now');
  expect((await wrappers.ask('status', 'overtaken')).code).toBe(0);
});

it.each([['lock'], ['run', '--mode', 'slot', '--slot', '1h', '--key'], ['run', '--key']])(
  'I12 a signal that comes when the claim has just been answered is heard: nothing is run, and nothing stays taken (%s)',
  async (...how) => {
    const name = `asked-${how.length}`;
    const [folder, ran] = [wrappers.path(name), wrappers.path(`${name}-ran`)];
    mkdirSync(folder);
    const guard = wrappers.start([...how, name, '--', 'touch', ran], { staged: { folder, at: 'claimed', does: 'wait' } });
    await reached(folder);
    guard.kill('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 200));
    letGo(folder);
    expect((await guard.ended).code).toBe(143);
    expect(existsSync(ran)).toBe(false);
    expect((await wrappers.ask(...how, name, '--', 'touch', ran)).code).toBe(0);
    expect(existsSync(ran)).toBe(true);
  },
);
