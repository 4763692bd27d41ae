/**
 * Node 22 says at every start that its SQLite is experimental. It would stand in every mail of cron, and beside every command.
 *
 * @module
 */
export function hushSqlite(): void {
  const { emitWarning } = process;
  process.emitWarning = ((warning: string | Error, ...rest: unknown[]): void => {
    if (String(warning).startsWith('SQLite is an experimental feature')) return;
    (emitWarning as (...args: unknown[]) => void).call(process, warning, ...rest);
  }) as typeof emitWarning;
}
