/**
 * The options of `run`, `lock` and `describe`, declared once.
 *
 * @module
 */
import { type Command, Option } from 'commander';
import { DEFAULT_LEASE_MS } from '../../core/guard.ts';
import { FOREVER_MS } from '../../core/record.ts';
import { EXIT } from '../exit-codes.ts';
import { parseMoment } from '../moment.ts';
import { DEFAULT_OPERATION } from '../operation.ts';
import { DEFAULT_STORE } from '../places/forms.ts';
import { captured, duration, retention, several, whole } from './values.ts';

const option = (flags: string, description: string): Option => new Option(flags, description);

export const storeOption = (): Option =>
  option('--store <url>', 'where it is remembered; `rerunsafe stores` lists the forms')
    .env('RERUNSAFE_STORE')
    .default(DEFAULT_STORE, "a SQLite file in the user's state folder");

export const operationOptions = (command: Command): Command =>
  command
    .optionsGroup('What it is:')
    .addOption(option('--operation <name>', 'what kind of work this is; part of the key').default(DEFAULT_OPERATION))
    .addOption(option('--scope <scope>', 'on whose behalf: a tenant, an environment; part of the key'));

export const momentOptions = (command: Command): Command =>
  command
    .addOption(
      option('--at <time>', 'the moment whose slot or day is meant: ISO 8601 or epoch seconds (default: now)').argParser((text) => parseMoment(text)),
    )
    .addOption(option('--timezone <zone>', "of the schedule: Europe/Oslo (default: this machine's for cron, UTC for durations)"));

export const childOptions = (command: Command): Command =>
  command
    .optionsGroup('The command:')
    .addOption(option('--timeout <duration>', 'stop the command after this time (exit code 124)').argParser(duration('--timeout', { min: 1 })))
    .addOption(
      option('--kill-after <duration>', 'a command that is stopped gets SIGTERM, and SIGKILL after this time')
        .argParser(duration('--kill-after'))
        .default(10_000, '10s'),
    )
    .addOption(
      option('--on-lost-lease <what>', 'the lease is lost, for example after a sleep of the machine: stop the command, or only warn')
        .choices(['kill', 'warn'])
        .default('kill'),
    )
    .addOption(
      option('--left-behind <what>', 'what the command leaves running when it exits: leave it, end it, or wait for it')
        .choices(['leave', 'end', 'wait'])
        .default('leave'),
    )
    .addOption(option('--foreground', 'leave the command in the process group and session of the terminal, for programs that need it'))
    .optionsGroup('The guard:')
    .addOption(
      option('--lease <duration>', 'how long the key stays taken after a crash; renewed while the command runs')
        .argParser(duration('--lease', { min: 1_000 }))
        .default(DEFAULT_LEASE_MS, '60s'),
    )
    .addOption(
      option('--wait <duration>', 'wait so long for somebody else who is running it').argParser(duration('--wait')).default(0, 'do not wait'),
    )
    .addOption(
      option('--busy-exit <code>', 'exit code while somebody else is running it')
        .argParser(whole('--busy-exit', 1, 255))
        .default(EXIT.busy),
    )
    .addOption(option('--dry-run', 'say what would happen, and change nothing'))
    .addOption(option('--report <file>', 'write what became of it to this file, as JSON'))
    .addOption(option('--json', 'say what became of it as one line of JSON on stderr'))
    .addOption(option('-q, --quiet', 'say nothing of what is done before or busy, only what is amiss'));

export const fingerprintOptions = (command: Command): Command =>
  command
    .optionsGroup('What must be the same under one key (mode once):')
    .addOption(option('--no-fp-args', 'the command and its arguments may change under the same key'))
    .addOption(
      option('--fp-env <name>', 'this environment variable must be the same under the same key (several)').argParser(several).default([], 'none'),
    )
    .addOption(option('--fp-file <glob>', 'these files must be the same (several)').argParser(several).default([], 'none'))
    .addOption(option('--fp-value <value>', 'this value must be the same (several)').argParser(several).default([], 'none'))
    .addOption(option('--on-mismatch <what>', 'they are not the same: fail (exit code 65), or rerun').choices(['fail', 'rerun']).default('fail'));

export const policyOptions = (command: Command): Command =>
  command
    .optionsGroup('What becomes of it (mode once):')
    .addOption(
      option('--on-failure <what>', 'the command ended with an exit code other than 0: it may be run again, or is blocked')
        .choices(['retry', 'block'])
        .default('retry'),
    )
    .addOption(
      option('--on-unknown <what>', 'nobody knows how it ended (killed, lost lease, crash): blocked until a person says so, or run again')
        .choices(['block', 'retry'])
        .default('block'),
    )
    .addOption(
      option('--max-attempts <n>', 'blocked beyond so many attempts')
        .argParser(whole('--max-attempts', 1, 1_000_000))
        .default(100),
    )
    .addOption(
      option('--store-down <what>', 'the store does not answer: fail (exit code 69), or run unguarded').choices(['fail', 'run']).default('fail'),
    )
    .addOption(option('--ttl <duration>', 'how long it is remembered that it is done').argParser(retention('--ttl')).default(FOREVER_MS, 'forever'))
    .addOption(option('--creates <path>', 'done is believed only while this path exists (several)').argParser(several).default([], 'none'))
    .addOption(
      option('--verify <command>', 'done is believed only while this shell command succeeds (several)').argParser(several).default([], 'none'),
    )
    .addOption(
      option('--verify-timeout <duration>', 'a --verify command that takes longer has failed')
        .argParser(duration('--verify-timeout', { min: 1 }))
        .default(60_000, '60s'),
    )
    .addOption(
      option('--done-exit <code>', 'exit code where it was done before')
        .argParser(whole('--done-exit', 0, 255))
        .default(EXIT.ok),
    )
    .addOption(option('--capture <tail:size>', 'keep the end of the output in the store: tail:64k. Mind what it may show').argParser(captured))
    .addOption(option('--replay', 'print the captured output where it was done before'));

export const slotOptions = (command: Command): Command =>
  command
    .optionsGroup('Modes slot and lock:')
    .addOption(option('--slot <schedule>', 'mode slot: 15m, or a cron expression'))
    .addOption(option('--on-passed <what>', 'a later slot is done already').choices(['skip', 'run']).default('skip'))
    .addOption(minHold());

export const minHold = (): Option =>
  option('--min-hold <duration>', 'modes lock and slot: stay taken at least so long, for jobs shorter than the clocks are apart')
    .argParser(duration('--min-hold'))
    .default(0, '0');
