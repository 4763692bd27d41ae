/**
 * The commands and their options. What a command does is loaded when it is called.
 *
 * @module
 */
import { Command, Option } from 'commander';
import { UsageError } from '../usage-error.ts';
import {
  childOptions,
  fingerprintOptions,
  minHold,
  momentOptions,
  operationOptions,
  policyOptions,
  slotOptions,
  storeOption,
} from './guard-options.ts';
import { guardHelp, keyHelp, PROGRAM_HELP } from './help.ts';
import { inspectionCommands } from './inspection.ts';
import { serveCommand } from './serve.ts';
import { type GuardFlags, lockSpec, type RunFlags, runSpec } from './specs.ts';

/** The exit code of a command that has ended. */
export type Ended = (exitCode: number) => void;

/** `argv`: as of the process. */
export function programOf(version: string, argv: readonly string[], ended: Ended): Command {
  const program = new Command('rerunsafe')
    .description('Makes commands safe to run again: once for a key, one at a time, once per tick of a schedule.')
    .version(version, '-V, --version')
    .enablePositionalOptions()
    .configureHelp({ showGlobalOptions: false })
    .addHelpText('after', PROGRAM_HELP);

  guardCommand(program, 'run', 'Run a command once for its key, and remember that it is done.').action(
    async (command: string[], flags: RunFlags, self: Command) => {
      const { runAndTell } = await import('../run/told.ts');
      ended(await runAndTell(runSpec(flags, typed(self), behindDashes(command, argv)), flags));
    },
  );

  const lock = program
    .command('lock')
    .description('Run a command under a lock: one at a time. Nothing is remembered; the same as run --mode lock.')
    .argument('<name>', 'of the lock; placeholders as in --key')
    .argument('<command...>', 'the command and its arguments, after --')
    .addOption(storeOption());
  childOptions(lock)
    .addOption(minHold())
    .addHelpText('after', () => guardHelp(true))
    .action(async (name: string, command: string[], flags: GuardFlags) => {
      const { runAndTell } = await import('../run/told.ts');
      ended(await runAndTell(lockSpec({ ...flags, mode: 'lock', name }, behindDashes(command, argv)), flags));
    });

  guardCommand(program, 'describe', 'Say what a guard does, for a runbook. Takes the options and the command of run, and touches nothing.').action(
    async (command: string[], flags: RunFlags, self: Command) => {
      const [{ describe }, { screen }, { parseStoreUrl }] = await Promise.all([
        import('../commands/describe.ts'),
        import('../screen.ts'),
        import('../places/parse.ts'),
      ]);
      const { shown } = await parseStoreUrl(flags.store, process.env);
      ended(describe(runSpec(flags, typed(self), behindDashes(command, argv)), shown, screen(flags.json === true)));
    },
  );

  // The library has a command of that name: it is asked with the words that were typed so far.
  inspectionCommands(program, ended, !(argv[2] === 'complete' && argv[3] === '--'));
  serveCommand(program, ended);
  for (const command of program.commands) refuseFlagsAsValues(command);
  return program;
}

function guardCommand(program: Command, name: string, description: string): Command {
  const command = program
    .command(name)
    .description(description)
    .argument('<command...>', 'the command and its arguments, after --')
    // Not commander's `requiredOption`: that says `--key` is missing where it is only misspelt.
    .option('-k, --key <key>', 'what makes it the same run again (required); with placeholders, see below')
    .addOption(
      new Option('--mode <mode>', 'once: remember that it is done; lock: only one at a time; slot: once per tick of --slot')
        .choices(['once', 'lock', 'slot'])
        .default('once'),
    )
    .addOption(storeOption());
  momentOptions(operationOptions(command));
  policyOptions(command);
  fingerprintOptions(command);
  slotOptions(command);
  return childOptions(command).addHelpText('after', () => `${keyHelp()}\n${guardHelp()}`);
}

/** `--key $K -- command` with an empty `K` would make `--` the key of every such call, and all but the first be skipped. */
function refuseFlagsAsValues(command: Command): void {
  const flags = new Set(['--', ...command.options.flatMap(({ long, short }) => [long, short])]);
  for (const option of command.options.filter(({ required }) => required)) {
    const { parseArg } = option;
    option.parseArg = <T>(value: string, before: T): T => {
      if (flags.has(value)) throw new UsageError(`${option.long} has no value: ${value} follows it. Is a variable empty?`);
      return (parseArg === undefined ? value : parseArg.call(option, value, before as never)) as T;
    };
  }
}

/** What is the command's is told by the dashes alone: an option of ours behind it would silently be the command's, and one of the command's before it ours. */
function behindDashes(command: readonly string[], argv: readonly string[]): readonly string[] {
  const dashes = argv.indexOf('--');
  if (dashes < 0 || argv.length - dashes - 1 !== command.length)
    throw new UsageError('the command stands after --: rerunsafe run [options] -- command arguments…');
  return command;
}

/** The flags that the person has typed, as they are declared. */
function typed(command: Command): ReadonlySet<string> {
  const given = command.options.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
  return new Set(given.map((option) => option.long ?? option.flags));
}
