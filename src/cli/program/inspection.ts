/**
 * The commands that look at what is kept, and change it by a person's word.
 *
 * @module
 */
import { Argument, type Command, Option } from 'commander';
import type { Address, RunAddress } from '../commands/find-run.ts';
import { EXIT } from '../exit-codes.ts';
import type { Screen } from '../output.ts';
import type { OpenPlace } from '../places/open.ts';
import { UsageError } from '../usage-error.ts';
import { workingFolder } from '../working-folder.ts';
import { momentOptions, operationOptions, storeOption } from './guard-options.ts';
import type { Ended } from './program.ts';
import { duration, whole } from './values.ts';

interface PlaceFlags {
  readonly store: string;
  readonly json?: true;
}

interface AddressFlags extends PlaceFlags {
  readonly operation: string;
  readonly scope?: string;
  readonly id?: string;
  readonly lock?: string;
  readonly at?: number;
  readonly timezone?: string;
}

interface SaidFlags {
  readonly by?: string;
  readonly why?: string;
  readonly force?: true;
}

type WordFlags = AddressFlags & SaidFlags;

type Looking = { readonly place: OpenPlace; readonly out: Screen };

/** `hasComplete`: whether `complete` is ours, and not the one that answers the shell. */
export function inspectionCommands(program: Command, ended: Ended, hasComplete = true): void {
  const at = async (flags: PlaceFlags, look: (looking: Looking) => Promise<number>): Promise<void> => {
    const [{ openPlace }, { screen }] = await Promise.all([import('../places/open.ts'), import('../screen.ts')]);
    const place = await openPlace(flags.store, process.env);
    try {
      ended(await look({ place, out: screen(flags.json === true) }));
    } finally {
      await place.close();
    }
  };

  addressed(program.command('status').description('Say what is known of a key: done, running, failed, blocked, unknown. Never writes.'), {
    locks: true,
  })
    .addHelpText('after', STATUS_HELP)
    .action((key: string | undefined, flags: AddressFlags) =>
      at(flags, async (looking) => (await import('../commands/status.ts')).status({ ...looking, what: await address(key, flags) })),
    );

  addressed(program.command('show').description('Show everything that is kept of a key: attempts, holder, outcome, captured output.'), {
    locks: true,
  }).action((key: string | undefined, flags: AddressFlags) =>
    at(flags, async (looking) => (await import('../commands/show.ts')).show({ ...looking, what: await address(key, flags) })),
  );

  withPlace(program.command('list').description('List what is kept.'))
    .option('--operation <name>', 'of this kind of work only')
    .addOption(new Option('--state <state>', 'in this state only').choices(['running', 'completed', 'released', 'blocked', 'lapsed']))
    .option('--prefix <text>', 'whose key begins with this')
    .addOption(
      new Option('--older-than <duration>', 'written longer ago than this').argParser(duration('--older-than', { max: Number.MAX_SAFE_INTEGER })),
    )
    .addOption(new Option('--limit <n>', 'at most so many').argParser(whole('--limit', 1, 1_000_000)).default(100))
    .option('--locks', 'locks instead of runs')
    .action((flags: PlaceFlags & { operation?: string; state?: never; prefix?: string; olderThan?: number; limit: number; locks?: true }) =>
      at(flags, async (looking) => {
        const { operation, state, prefix, olderThan: olderThanMs, limit, locks } = flags;
        return (await import('../commands/list.ts')).list({ ...looking, operation, state, prefix, olderThanMs, limit, leases: locks === true });
      }),
    );

  worded(program.command('resolve').description('Say what became of a run that is blocked, or that nobody knows about.'))
    .addOption(
      new Option('--as <answer>', 'done: it is not run again; not-done: it may run again').choices(['done', 'not-done']).makeOptionMandatory(),
    )
    .option('--value <json>', "what the work would have returned, where an application's run is meant")
    .action((key: string | undefined, flags: WordFlags & { as: 'done' | 'not-done'; value?: string }) =>
      at(flags, async (looking) => {
        const { as, value } = flags;
        return (await import('../commands/resolve.ts')).resolve({ ...looking, ...word(flags), as, value, what: await runAddress(key, flags) });
      }),
    );

  worded(program.command('forget').description('Forget a key: the next call runs again.')).action((key: string | undefined, flags: WordFlags) =>
    at(flags, async (looking) => (await import('../commands/forget.ts')).forget({ ...looking, ...word(flags), what: await runAddress(key, flags) })),
  );

  saying(
    withPlace(
      program.command('forget-scope').description('Forget all that is kept on behalf of a scope: erasure.').argument('<scope>', 'whose'),
    ).option('--operation <name>', 'of this kind of work only'),
  ).action((scope: string, flags: PlaceFlags & SaidFlags & { operation?: string }) =>
    at(flags, async (looking) =>
      (await import('../commands/forget-scope.ts')).forgetScope({ ...looking, ...word(flags), scope, operation: flags.operation }),
    ),
  );

  withPlace(program.command('unlock').description('Free a lock whose holder is gone, or is to be shut out.').argument('<name>', 'of the lock'))
    .addOption(new Option('--token <n>', 'whose: the token as status shows it').argParser(whole('--token', 0, Number.MAX_SAFE_INTEGER)))
    .option('--force', 'whoever holds it')
    .action((name: string, flags: PlaceFlags & { token?: number; force?: true }) =>
      at(flags, async (looking) => {
        const { token, force } = flags;
        return (await import('../commands/unlock.ts')).unlock({ ...looking, name, token, force });
      }),
    );

  withPlace(program.command('purge').description('Remove what is no longer remembered: older than its retention, and than an hour.'))
    .option('--operation <name>', 'of this kind of work only')
    .addOption(
      new Option(
        '--lapsed-older-than <duration>',
        'also runs whose outcome nobody knows and whose lease ended longer ago than this; they can then run again',
      ).argParser(duration('--lapsed-older-than', { min: 1, max: Number.MAX_SAFE_INTEGER })),
    )
    .addOption(new Option('--limit <n>', 'at most so many').argParser(whole('--limit', 1, Number.MAX_SAFE_INTEGER)))
    .action((flags: PlaceFlags & { operation?: string; lapsedOlderThan?: number; limit?: number }) =>
      at(flags, async (looking) => {
        const { operation, lapsedOlderThan: lapsedOlderThanMs, limit } = flags;
        return (await import('../commands/purge.ts')).purge({ ...looking, operation, lapsedOlderThanMs, limit });
      }),
    );

  withPlace(program.command('set-up').description('Make the table, file or container, once; safe to run again.')).action((flags: PlaceFlags) =>
    at(flags, async ({ place, out }) => {
      await (await import('../commands/set-up.ts')).setUp(place, out);
      return EXIT.ok;
    }),
  );

  withPlace(program.command('doctor').description('Check that the store can be used from here.')).action(async (flags: PlaceFlags) => {
    const [{ doctor }, { screen }] = await Promise.all([import('../commands/doctor.ts'), import('../screen.ts')]);
    ended(await doctor(flags.store, process.env, screen(flags.json === true)));
  });

  program
    .command('assert')
    .description('Inside of a guarded command: say whether its lease is still held (exit code 0), or lost (125).')
    .addOption(new Option('--min <duration>', 'at least so much of the lease must be left').argParser(duration('--min')))
    .option('--json', 'answer as JSON')
    .action(async (flags: { min?: number; json?: true }) => {
      const [{ assertHeld }, { openPlace }, { screen }] = await Promise.all([
        import('../commands/assert.ts'),
        import('../places/open.ts'),
        import('../screen.ts'),
      ]);
      const open = (url: string): Promise<OpenPlace> => openPlace(url, process.env);
      ended(await assertHeld({ env: process.env, open, minMs: flags.min, out: screen(flags.json === true) }));
    });

  if (hasComplete)
    program
      .command('complete')
      .description('Print what makes a shell complete the words of rerunsafe.')
      .addArgument(new Argument('[shell]').choices(['bash', 'zsh', 'fish']))
      .action(async (shell: string | undefined) => {
        const [{ completionOf }, { screen }] = await Promise.all([import('../completion.ts'), import('../screen.ts')]);
        screen(false).print(completionOf(shell));
      });

  program
    .command('stores')
    .description('List the forms of --store.')
    .action(async () => {
      const { SECRETS_NOTE, STORE_FORMS } = await import('../places/forms.ts');
      const { screen } = await import('../screen.ts');
      const out = screen(false);
      const width = Math.max(...STORE_FORMS.map(([form]) => form.length));
      for (const [form, meaning] of STORE_FORMS) out.print(`${form.padEnd(width)}  ${meaning}`);
      out.print('');
      out.print(SECRETS_NOTE);
    });
}

const withPlace = (command: Command): Command => command.addOption(storeOption()).option('--json', 'answer as JSON');

function addressed(command: Command, { locks }: { locks: boolean }): Command {
  command.argument('[key]', 'the key; placeholders as in run').option('--id <id>', 'a record by its id instead, as list shows it');
  if (locks) command.option('--lock <name>', 'a lock instead');
  return momentOptions(operationOptions(withPlace(command)));
}

const worded = (command: Command): Command => saying(addressed(command, { locks: false }));

const saying = (command: Command): Command =>
  command
    .optionsGroup('What is said:')
    .option('--by <name>', 'who says so. Default: the user and the host')
    .option('--why <text>', 'why; kept with it')
    .option('--force', 'also while it is running, and over an earlier word');

const word = ({ by, why, force }: SaidFlags) => ({ by, why, force });

async function address(key: string | undefined, flags: AddressFlags): Promise<Address> {
  if (flags.lock === undefined) return runAddress(key, flags);
  if (key !== undefined || flags.id !== undefined) throw new UsageError('either a key, --id or --lock');
  return { kind: 'lease', name: flags.lock };
}

async function runAddress(key: string | undefined, { id, operation, scope, lock, at, timezone }: AddressFlags): Promise<RunAddress> {
  if (id !== undefined && key === undefined) return { kind: 'id', id };
  if (id !== undefined || key === undefined) throw new UsageError(`either a key${lock === undefined ? ', or --id' : ', --id or --lock'}`);
  const { renderKey } = await import('../key-template.ts');
  const rendered = await renderKey(key, { cwd: workingFolder(), env: process.env, nowMs: at ?? Date.now(), timezone });
  return { kind: 'run', operation, key: rendered, ...(scope === undefined ? {} : { scope }) };
}

const STATUS_HELP = `
Exit codes:
  0   it is done
  1   it failed
  3   nothing is known of it, or nobody knows how it ended (a lock: it is free)
  75  it is running (a lock: it is taken)
  76  it is blocked`;
