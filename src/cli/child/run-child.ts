/**
 * A command under a lease: started, watched, stopped when it has to be, and seen to its end.
 *
 * @module
 */
import type { ChildEnd, ChildOptions, Death, StopReason } from './child.ts';
import { codeOfSignal } from './code-of-signal.ts';
import { findCommand } from './find-command.ts';
import { graceUnder, type LeaseWatch, lastGraceMs, watchLease } from './lease-watch.ts';
import { settleGroup } from './left-behind.ts';
import { type PassOn, passOn } from './pass-on.ts';
import { hearSignals } from './signals.ts';
import { type Started, start } from './start.ts';
import { type Stop, stopOf } from './stop.ts';
import { Tail } from './tail.ts';
import { after } from './time.ts';

export type { ChildEnd, ChildOptions } from './child.ts';

/**
 * Resolves when the process is dead, and what it left behind is dealt with. Acts on its exit, never on the end of its output, which a process that it left
 * behind can hold open.
 *
 * A signal to end (INT, TERM, HUP, QUIT) that came while it ran makes it `stopped` whatever the process made of it, also when it ended with 0. What we stop
 * ourselves (time, lease) outweighs a signal; of those the first counts. Looks for the command once more, for the case that nobody has asked
 * {@link findCommand} before.
 */
export async function runChild(options: ChildOptions): Promise<ChildEnd> {
  const course: Course = { options };
  // Before anything else, and at once: a signal that comes in between would be nobody's, or end us, and with us a command that has just begun.
  const unhear = hearSignals(options.foreground, {
    asked(signal) {
      course.isPressed = true;
      stopFor(course, { why: 'signal', signal });
    },
    pass: (signal) => course.run?.group.signal(signal),
    pause: () => course.run?.group.signal('SIGSTOP'),
    resume() {
      // Lost while we were stopped: the command is to hear TERM before it goes on.
      course.lease?.look();
      course.run?.group.signal('SIGCONT');
    },
  });
  try {
    const found = await findCommand(options.command);
    if ('exitCode' in found) return { kind: 'not-started', ...found };
    const { reason } = course;
    if (reason?.why === 'signal')
      return { kind: 'not-started', exitCode: codeOfSignal(reason.signal), message: `${reason.signal} came before it was started` };
    const run = await start(options);
    if (run.kind === 'not-started') return run;
    try {
      return await follow(course, run);
    } finally {
      await run.watcher?.goodbye();
    }
  } finally {
    unhear();
  }
}

interface Course {
  readonly options: ChildOptions;
  run?: Started;
  lease?: LeaseWatch;
  reason?: StopReason;
  /** Ended by itself, and what it left is not waited for: how it ended is known. */
  isDecided?: boolean;
  /** Time, lease or a signal: what is still to be passed on gets no long wait for its reader any more. */
  isPressed?: boolean;
}

async function follow(course: Course, run: Started): Promise<ChildEnd> {
  const { options } = course;
  const startedAtMs = performance.now();
  const exit = new Promise<Death>((resolve) => {
    run.child.once('exit', (code, signal) => resolve(code === null ? { endedBy: signal as NodeJS.Signals } : { code }));
  });
  course.run = run;
  const stop = stopOf(run.group);
  const output = capture(options, run);
  course.lease = watchLeaseOf(course, stop);
  const { timeoutMs } = options;
  const offTimeout = timeoutMs === undefined ? undefined : after(timeoutMs, () => onTimeout(course, stop, timeoutMs));
  try {
    const death = await exit;
    const durationMs = Math.round(performance.now() - startedAtMs);
    course.isDecided = course.reason === undefined && options.leftBehind !== 'wait';
    await settleGroup(run.group, stop, options, graceUnder(options.hold, options.killAfterMs));
    course.isDecided = true;
    await Promise.all(output.streams.map((stream) => stream.drained(() => course.isPressed === true || stop.begun)));
    const tail = output.tail?.pieces();
    return endOf(course.reason, death, { durationMs, ...(tail && { tail }) });
  } finally {
    offTimeout?.();
    course.lease.off();
    stop.off();
    for (const stream of output.streams) stream.close();
  }
}

function endOf(reason: StopReason | undefined, death: Death, ended: { durationMs: number }): ChildEnd {
  if (reason !== undefined) return { kind: 'stopped', ...reason, ...death, ...ended };
  if (death.endedBy !== undefined) return { kind: 'signalled', signal: death.endedBy, ...ended };
  return { kind: 'exited', code: death.code as number, ...ended };
}

/** Whether this is (now) the reason. */
function stopFor(course: Course, reason: StopReason): boolean {
  if (course.isDecided) return false;
  if (course.reason !== undefined && (course.reason.why !== 'signal' || reason.why === 'signal')) return false;
  course.reason = reason;
  return true;
}

function onTimeout(course: Course, stop: Stop, timeoutMs: number): void {
  course.isPressed = true;
  if (!stopFor(course, { why: 'timeout' })) return;
  // First: whoever reads what we say may take his time.
  stop.begin(course.options.killAfterMs);
  course.options.say(`the command did not end within ${timeoutMs} ms: stopping it`);
}

function watchLeaseOf(course: Course, stop: Stop): LeaseWatch {
  const { hold, killAfterMs, onLostLease, say } = course.options;
  if (onLostLease === 'warn') return watchLease(hold, 0, () => say('the lease is lost. The command goes on, and somebody else may start it, too'));
  return watchLease(hold, graceUnder(hold, killAfterMs), () => {
    course.isPressed = true;
    const isReason = stopFor(course, { why: 'lease-lost' });
    // Decided or not: nothing is left for longer than the lease.
    if (!course.isDecided || stop.begun) stop.begin(lastGraceMs(hold, killAfterMs));
    if (isReason) say('the lease is lost, or was not renewed in time: stopping the command');
  });
}

function capture({ captureBytes }: ChildOptions, { child }: Started): { tail?: Tail; streams: readonly PassOn[] } {
  if (captureBytes === undefined || child.stdout === null || child.stderr === null) return { streams: [] };
  const tail = new Tail(captureBytes);
  return {
    tail,
    streams: [
      passOn(child.stdout, process.stdout, (bytes) => tail.add('stdout', bytes)),
      passOn(child.stderr, process.stderr, (bytes) => tail.add('stderr', bytes)),
    ],
  };
}
