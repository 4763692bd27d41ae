/**
 * The command that serves a page.
 *
 * @module
 */
import { type Command, Option } from 'commander';
import { UsageError } from '../usage-error.ts';
import { storeOption } from './guard-options.ts';
import type { Ended } from './program.ts';
import { whole } from './values.ts';

interface ServeFlags {
  readonly store: string;
  readonly host: string;
  readonly port: number;
  readonly allowRemote?: true;
  readonly allowWrites?: boolean;
  readonly showValues?: true;
  readonly json?: true;
}

export function serveCommand(program: Command, ended: Ended): void {
  program
    .command('serve')
    .description('Serve a page for operators on this machine: what runs, lapsed, is blocked or held, and by whom. Prints its address.')
    .addOption(storeOption())
    .option('--allow-writes', 'resolve, forget and unlock on the page, each with a reason')
    .option('--read-only', 'nothing can be changed (the default)')
    .option('--show-values', 'also show what runs returned, threw or printed: it may be personal data')
    .addOption(new Option('--port <n>', 'where it listens; 0: a free port, told in the address').argParser(whole('--port', 0, 65_535)).default(0))
    .addOption(new Option('--host <address>', 'where it listens; ::1 for IPv6').default('127.0.0.1'))
    .option('--allow-remote', 'lets --host be an address that others reach. Nothing is encrypted')
    .option('--json', 'print the address, and each change, as a line of JSON')
    .action(async ({ store, json, allowWrites = false, ...flags }: ServeFlags & { readOnly?: true }) => {
      if (flags.readOnly && allowWrites) throw new UsageError('either --read-only or --allow-writes');
      const [{ serve }, { openPlace }, { screen }, { writeStderr }] = await Promise.all([
        import('../serve/serve.ts'),
        import('../places/open.ts'),
        import('../screen.ts'),
        import('../stderr.ts'),
      ]);
      const place = await openPlace(store, process.env);
      const end = new AbortController();
      const onSignal = (): void => end.abort();
      for (const signal of SIGNALS) process.on(signal, onSignal);
      try {
        const warn = (text: string): void => writeStderr(`rerunsafe: ${text}\n`);
        ended(await serve({ ...flags, allowWrites, place, out: screen(json === true), warn, signal: end.signal }));
      } finally {
        for (const signal of SIGNALS) process.off(signal, onSignal);
        await place.close();
      }
    });
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
