/**
 * Who is killed at which moment, and what has to come of it.
 *
 * @module
 */

/** `gate`, as one of them: the shell that is to become the command. */
export type Who = 'nobody' | 'wrapper' | 'command' | 'both' | 'gate' | 'watcher' | 'watcher, then wrapper';

/**
 * In the order in which they come.
 *
 * - `claim`: the store was asked nothing. `claim sent`: it has answered, and the answer does not arrive. `claimed`: the answer is there.
 * - `watcher`: of the command's processes only the watcher has started. `gate`: the command waits for the word to begin. `running`: it has begun.
 * - `verifying`: it has ended, and --verify runs. `ended`: nothing of it is written. `outcome sent`: as `claim sent`. `written`: nobody was told.
 */
export const MOMENTS = ['claim', 'claim sent', 'claimed', 'watcher', 'gate', 'running', 'verifying', 'ended', 'outcome sent', 'written'] as const;
export type Moment = (typeof MOMENTS)[number];

export interface Plan {
  readonly mode: 'once' | 'slot' | 'lock';
  readonly who: Who;
  readonly moment: Moment;
  /** `retry`: the next call waits for the end of the lease, and runs. Only of mode once. */
  readonly onUnknown: 'block' | 'retry';
  /** What the command ends with. */
  readonly code: 0 | 3;
  /** Ends with 0, and what --creates asks for is not there. */
  readonly isMissing: boolean;
}

/** As `status` says it; of a lock `running` is taken, `lapsed` free. */
export type State = 'none' | 'running' | 'lapsed' | 'done' | 'failed' | 'blocked';
export const EXIT_OF: Readonly<Record<State, number>> = { none: 3, running: 75, lapsed: 3, done: 0, failed: 1, blocked: 76 };

export interface Course {
  /** The exit code; undefined: by SIGKILL. */
  readonly first: number | undefined;
  /** Whether the command of the first began, and whether it came to its own end. */
  readonly command: 'not begun' | 'begun' | 'ended';
  /** Right after the kill, and when the lease is over. */
  readonly now: State;
  readonly later: State;
  readonly next: { readonly code: number; readonly attempt: number | undefined };
  readonly last: State;
}

type Left = 'nothing' | 'unfinished' | 'unknown' | 'failed' | 'done';

const isBefore = (a: Moment, b: Moment): boolean => MOMENTS.indexOf(a) < MOMENTS.indexOf(b);
/** What comes of the first call where nobody kills anything. */
const intended = ({ code, isMissing }: Plan): { readonly left: Left; readonly exit: number } => {
  if (isMissing) return { left: 'failed', exit: 73 };
  return code === 0 ? { left: 'done', exit: 0 } : { left: 'failed', exit: code };
};

function leftBy(plan: Plan): { readonly left: Left; readonly exit: number | undefined } {
  const { who, moment } = plan;
  if (who === 'nobody' || who === 'watcher') return intended(plan);
  // Nobody knows how far it came: given up at once.
  if (who === 'command' || who === 'gate') return { left: 'unknown', exit: 128 + 9 };
  if (moment === 'claim') return { left: 'nothing', exit: undefined };
  return { left: isBefore(moment, 'outcome sent') ? 'unfinished' : intended(plan).left, exit: undefined };
}

export function courseOf(plan: Plan): Course {
  const { left, exit } = leftBy(plan);
  const { who, moment, mode, onUnknown } = plan;
  const isWhole = who === 'nobody' || who === 'watcher' || !isBefore(moment, 'verifying');
  const began = isWhole || moment === 'running';
  const command = isWhole ? 'ended' : began ? 'begun' : 'not begun';
  const common = { first: exit, command } as const;
  const runs = (attempt: number, now: State, later: State = now): Course => ({ ...common, now, later, next: { code: 0, attempt }, last: 'done' });
  if (mode !== 'once') {
    // A lease remembers no more than that its slot is done, and counts no attempts.
    const isDone = mode === 'slot' && left === 'done';
    const now = left === 'unfinished' ? 'running' : left === 'nothing' ? 'none' : 'lapsed';
    return { ...common, now, later: now === 'none' ? now : 'lapsed', next: { code: 0, attempt: isDone ? undefined : 0 }, last: 'lapsed' };
  }
  switch (left) {
    case 'nothing':
      return runs(1, 'none');
    case 'failed':
      return runs(2, 'failed');
    case 'done':
      return { ...common, now: 'done', later: 'done', next: { code: 0, attempt: undefined }, last: 'done' };
    default: {
      const now = left === 'unfinished' ? 'running' : 'lapsed';
      if (onUnknown === 'retry') return runs(2, now, 'lapsed');
      return { ...common, now, later: 'lapsed', next: { code: 76, attempt: undefined }, last: 'blocked' };
    }
  }
}

export const nameOf = ({ mode, who, moment, onUnknown, code, isMissing }: Plan): string =>
  `${mode}: ${who} killed at "${moment}"${code === 0 ? '' : `, command ends with ${code}`}${isMissing ? ', --creates not there' : ''}${mode === 'once' ? `, --on-unknown ${onUnknown}` : ''}`;

const once = (who: Who, moments: readonly Moment[], more: Partial<Plan> = {}): Plan[] =>
  moments.flatMap((moment) =>
    (['block', 'retry'] as const).map((onUnknown): Plan => ({ mode: 'once', who, moment, onUnknown, code: 0, isMissing: false, ...more })),
  );
const leased = (mode: 'slot' | 'lock', who: Who, moments: readonly Moment[]): Plan[] =>
  moments.map((moment): Plan => ({ mode, who, moment, onUnknown: 'block', code: 0, isMissing: false }));

/** The moments that need a proxy between the guard and its store. */
export const SENT: readonly Moment[] = ['claim sent', 'outcome sent'];

export const ALL: readonly Plan[] = [
  ...once(
    'wrapper',
    MOMENTS.filter((moment) => !SENT.includes(moment)),
  ),
  ...once('wrapper', ['ended', 'written'], { code: 3 }),
  ...once('wrapper', ['ended', 'written'], { isMissing: true }),
  ...once('both', ['gate', 'running']),
  ...once('gate', ['gate']),
  ...once('command', ['running']),
  ...once('watcher', ['running']),
  // Nobody is left who could end the command: it goes on, and only a person may say what is next.
  ...once('watcher, then wrapper', ['running']).filter(({ onUnknown }) => onUnknown === 'block'),
  ...once('nobody', ['ended'], { isMissing: true }),
  ...leased('slot', 'wrapper', ['claimed', 'running', 'ended', 'written']),
  ...leased('slot', 'command', ['running']),
  ...leased('lock', 'wrapper', ['running', 'written']),
];

/** Those that depend on the store. */
export const ON_SERVERS: readonly Plan[] = [
  ...once('wrapper', SENT),
  ...once('wrapper', ['running', 'ended']),
  ...once('command', ['running']).filter(({ onUnknown }) => onUnknown === 'retry'),
];
