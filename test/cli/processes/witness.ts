/**
 * What a command did, as it says itself in a file that all of them append to: outside of any store.
 *
 * @module
 */
import { existsSync, readFileSync } from 'node:fs';

export interface Seen {
  /** `out`: it is about to end by itself. */
  readonly what: 'in' | 'tick' | 'out' | 'ended-by-term';
  readonly pid: number;
  readonly attempt: number;
  readonly token: number;
}

/** A shell's `>>` appends, and such a line is one write. */
const SCRIPT = `say() { echo "$1 $$ $IDEMPOTENCY_ATTEMPT $IDEMPOTENCY_FENCING_TOKEN" >>"$WITNESS"; }
say in
if [ -n "$HOLDS" ]; then while [ ! -e "$HOLDS" ]; do [ -z "$TICKS" ] || say tick; sleep 0.02; done; fi
say out
exit "$CODE"`;

/** The same arguments whatever it does, so that all are calls for the same. */
export const COMMAND: readonly string[] = ['sh', '-c', SCRIPT];

export interface Behaviour {
  /** The file of {@link Seen}. */
  readonly witness: string;
  /** Goes on until this file is there. */
  readonly holds?: string;
  readonly ticks?: boolean;
  readonly code?: number;
}

export const behaving = ({ witness, holds = '', ticks = false, code = 0 }: Behaviour): Record<string, string> => ({
  WITNESS: witness,
  HOLDS: holds,
  TICKS: ticks ? '1' : '',
  CODE: String(code),
});

export function seenIn(witness: string): Seen[] {
  if (!existsSync(witness)) return [];
  return readFileSync(witness, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => {
      const [what, pid, attempt, token] = line.split(' ');
      return { what: what as Seen['what'], pid: Number(pid), attempt: Number(attempt), token: Number(token) };
    });
}
