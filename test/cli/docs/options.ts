/**
 * Which options a page names, and of which command.
 *
 * @module
 */
import { COMMANDS } from './write.ts';

/** Of other programs. */
const OTHERS = ['--from'];
const OF_ALL = ['--help'];

export const optionsOf = (name: string): readonly string[] | undefined =>
  COMMANDS.find((command) => command.name() === name)?.options.flatMap(({ long, short }) => [long, short].filter((flag) => flag != null));

const FLAG = /(?<![\w-])--[a-z][\w-]*/g;

/** Those that no command has. */
export function strangers(page: string): string[] {
  const known = new Set([...COMMANDS.flatMap((command) => optionsOf(command.name()) ?? []), ...OTHERS, ...OF_ALL, '--version']);
  return [...new Set(page.match(FLAG))].filter((flag) => !known.has(flag));
}

/** Calls of `rerunsafe` with a command that there is not, or an option that this command has not. What follows the command's own `--` is not looked at. */
export function wrongCalls(page: string): string[] {
  const calls = [...page.matchAll(/\brerunsafe ([a-z][a-z-]*)((?:(?! -- )[^`\n])*)/g)].filter(([, , rest = '']) => /\s-/.test(rest));
  return calls
    .filter(([, name = '', rest = '']) => {
      const options = optionsOf(name);
      return options === undefined || (rest.match(FLAG) ?? []).some((flag) => ![...options, ...OTHERS, ...OF_ALL].includes(flag));
    })
    .map(([call]) => call);
}
