/**
 * A newcomer's walk: each page that begins with an empty folder is followed block by block, with the package as npm packs it, and has to print what it says.
 *
 *     npm run walk [-- start-aws …]
 *
 * Nothing is replaced but `rerunsafe` in `npm install`, by the tarball, and the ports of emulators, by free ones. The last line counts.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { ROOT } from '../run.ts';
import { type Step, stepsOf, withoutFigures } from './page.ts';
import { type Terminal, terminal } from './terminal.ts';

const PAGES = ['start-script', 'start-azure', 'start-aws'];
const PORTS = /\b(?:10000|10001|10002|8000)\b/g;
const run = promisify(execFile);

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.end(() => resolve(true)));
      socket.once('error', () => resolve(false));
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on ${port}`);
}

interface Walk {
  readonly folder: string;
  readonly tarball: string;
  readonly ports: Map<string, number>;
  readonly shell: Terminal;
  say(line: string): void;
}

/** Whether it went as the page says. */
async function take(step: Step, { folder, tarball, ports, shell, say }: Walk): Promise<boolean> {
  for (const [port] of step.text.matchAll(PORTS)) if (!ports.has(port)) ports.set(port, await freePort());
  const text = step.text.replaceAll(PORTS, (port) => String(ports.get(port))).replaceAll(/(?<=npm install )rerunsafe\b/g, tarball);
  if (step.kind === 'file') {
    say(`\n# ${step.path}\n${step.text.trimEnd()}`);
    await mkdir(dirname(join(folder, step.path)), { recursive: true });
    await writeFile(join(folder, step.path), text);
    return true;
  }
  say(`\n${step.text.trimEnd().replaceAll(/^/gm, '$ ')}`);
  const printed = await shell.type(text);
  if (printed.trim() !== '') say(printed.trimEnd());
  if (step.kind === 'background') for (const [port] of step.text.matchAll(PORTS)) await listening(ports.get(port) as number);
  const expected = step.prints ?? '';
  if (withoutFigures(printed) === withoutFigures(expected)) return true;
  say(`\n✗ the page says:\n${expected}`);
  return false;
}

/** Side by side: most of it is waiting for npm. */
async function follow(page: string, tarball: string): Promise<{ passed: number; failed: number; transcript: string }> {
  const steps = stepsOf(await readFile(join(ROOT, 'docs', `${page}.md`), 'utf8'));
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-walk-'));
  const lines = [`\n== docs/${page}.md, in an empty folder ==`];
  const say = (line: string): void => void lines.push(line);
  // npm: what is in its cache already is not asked for again.
  const { RERUNSAFE_STORE: _, AzureWebJobsStorage: __, ...given } = process.env;
  const env = {
    ...given,
    XDG_STATE_HOME: join(folder, '.state'),
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  };
  const shell = terminal(folder, { ...env, npm_config_loglevel: 'error', npm_config_update_notifier: 'false' });
  const ports = new Map<string, number>();
  const walk: Walk = { folder, tarball, ports, shell, say };
  let passed = 0;
  try {
    while (passed < steps.length && (await take(steps[passed] as Step, walk))) passed += 1;
    return { passed, failed: steps.length - passed, transcript: lines.join('\n') };
  } finally {
    await shell.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** As it would be published. */
async function packInto(folder: string): Promise<string> {
  await run('npm', ['pack', '--pack-destination', folder], { cwd: ROOT });
  const name = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (name === undefined) throw new Error('npm pack left no tarball');
  return join(folder, name);
}

const { values, positionals } = parseArgs({ options: { tarball: { type: 'string' } }, allowPositionals: true });
const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-tarball-'));
try {
  const tarball = values.tarball ?? (await packInto(folder));
  const walks = await Promise.all((positionals.length > 0 ? positionals : PAGES).map((page) => follow(page, tarball)));
  for (const { transcript } of walks) console.log(transcript);
  const failed = walks.reduce((sum, walk) => sum + walk.failed, 0);
  console.log(`\n${walks.reduce((sum, walk) => sum + walk.passed, 0)} steps as the pages say, ${failed} not`);
  if (failed > 0) process.exitCode = 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}
