/**
 * From the arguments to the exit code.
 *
 * @module
 */
import { createRequire } from 'node:module';
import { CommanderError } from 'commander';
import { harmless } from './commands/harmless.ts';
import { EXIT } from './exit-codes.ts';
import { hushSqlite } from './hush.ts';
import { programOf } from './program/program.ts';
import { refusedBy } from './run/refused.ts';
import { writeStderr } from './stderr.ts';
import { UsageError } from './usage-error.ts';

/** What is left open by then (a client that does not close) must not keep a cron job from ending. */
const LAST_MS = 2_000;

export async function main(argv: readonly string[]): Promise<void> {
  hushSqlite();
  process.on('uncaughtException', onUncaught);
  const exitCode = await exitCodeFor(argv);
  process.exitCode ??= exitCode;
  setTimeout(leave, LAST_MS).unref();
}

/** Not before a slow reader has all of the answer. */
function leave(): void {
  if (process.stdout.writableLength > 0) setTimeout(leave, LAST_MS).unref();
  else process.exit();
}

/** Not Node's 1: in `status` that means "failed", and in `run` it would be the command's own. */
function onUncaught(error: unknown): void {
  process.exitCode = EXIT.guard;
  writeStderr(`rerunsafe: ${error instanceof Error ? error.stack : error}\n`);
}

function tellRefusal(error: unknown): number {
  try {
    const { exitCode, message } = refusedBy(error);
    writeStderr(`rerunsafe: ${harmless(message)}\n`);
    return exitCode;
  } catch {
    onUncaught(error);
    return EXIT.guard;
  }
}

/** Node replaces bytes that are not UTF-8: two keys, or two files to be removed, would be one. */
function mustBeText(argv: readonly string[]): void {
  const at = argv.findIndex((argument) => argument.includes('\uFFFD'));
  if (at >= 0) throw new UsageError(`argument ${at - 1} holds bytes that are not UTF-8 (or U+FFFD itself), and could not be handed on as it is`);
}

const OUTPUT = {
  writeErr: writeStderr,
  outputError: (text: string, write: (text: string) => void): void => write(text.replace(/^error: /, 'rerunsafe: ')),
};

async function exitCodeFor(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const { version } = createRequire(import.meta.url)('rerunsafe/package.json') as { version: string };
  const program = programOf(version, argv, (code) => {
    exitCode = code;
  });
  // The shell asks at each press of a key; nobody else needs it.
  if (argv[2] === 'complete' && argv[3] === '--') (await import('@bomb.sh/tab/commander')).default(program);
  for (const command of [program, ...program.commands]) command.exitOverride().configureOutput(OUTPUT);
  try {
    mustBeText(argv);
    await program.parseAsync([...argv]);
    return exitCode;
  } catch (error) {
    // Help and version are no errors.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return tellRefusal(error);
  }
}
