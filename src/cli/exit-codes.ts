/**
 * What the exit code says. The one place for the codes: `--help`, the page in docs/ and the code take them from here.
 *
 * @module
 */

/** `sysexits.h`, and 124 to 127 as GNU `timeout` and the shell have them. Every other code, and 128 + n for a signal, is the command's own. */
export const EXIT = {
  ok: 0,
  usage: 64,
  mismatch: 65,
  storeDown: 69,
  notBroughtAbout: 73,
  busy: 75,
  blocked: 76,
  config: 78,
  timeout: 124,
  guard: 125,
  notExecutable: 126,
  notFound: 127,
} as const;

/** Of `status`, where nothing is known. */
export const EXIT_UNKNOWN = 3;
/** Of `status`, where the last attempt failed. */
export const EXIT_FAILED = 1;

export const EXIT_MEANINGS: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'the command ran and ended with 0, or it is known to be done (--done-exit tells the two apart)'],
  ['64', 'wrong usage: nothing was run'],
  ['65', 'the key was used with other arguments, files or values: nothing was run'],
  ['69', 'the store cannot be reached: nothing was run'],
  ['73', 'the command ended with 0, and what --creates or --verify ask for is not there'],
  ['75', 'somebody else is running it: try again later (--busy-exit changes the code)'],
  ['76', 'blocked: it failed, or nobody knows how it ended, and a person has to say what is to become of it (resolve, forget)'],
  ['78', 'the store is not set up, or may not be used; a package is missing'],
  ['124', '--timeout: the command was stopped'],
  ['125', 'the guard itself failed: the lease was lost, or the store gave no answer'],
  ['126', 'the command is there and cannot be executed'],
  ['127', 'there is no such command'],
  ['128+n', 'the command was ended by signal n'],
  ['other', "the command's own exit code"],
];
