/**
 * What is said to us and meant for the command.
 *
 * @module
 */

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;
const TALKING = ['SIGUSR1', 'SIGUSR2'] as const;

export interface Ears {
  /** To be passed on. */
  pass(signal: NodeJS.Signals): void;
  /** We were asked to end. */
  asked(signal: NodeJS.Signals): void;
  /** Before and after we are stopped ourselves. */
  pause(): void;
  resume(): void;
}

/**
 * In a session of its own the command hears nothing of a terminal: all is passed on. In the foreground the terminal tells both of us INT, QUIT and TSTP, and
 * passing them on would say them twice: an `interrupt` pressed once, and a database shell quits instead of cancelling its query.
 */
export function hearSignals(foreground: boolean, ears: Ears): () => void {
  const heard = new Map<NodeJS.Signals, () => void>();
  for (const signal of ENDING) {
    const fromTerminal = foreground && (signal === 'SIGINT' || signal === 'SIGQUIT');
    heard.set(signal, () => {
      ears.asked(signal);
      if (!fromTerminal) ears.pass(signal);
    });
  }
  for (const signal of TALKING) heard.set(signal, () => ears.pass(signal));
  if (!foreground) {
    heard.set('SIGTSTP', () => {
      ears.pause();
      process.kill(process.pid, 'SIGSTOP');
    });
  }
  heard.set('SIGCONT', () => ears.resume());
  for (const [signal, hear] of heard) process.on(signal, hear);
  return () => {
    for (const [signal, hear] of heard) process.off(signal, hear);
  };
}
