/**
 * One way to hold a named lock, as its documentation sets it up; and a resource that the lock guards, which checks a token where there is one.
 *
 * @module
 */
export interface Hold {
  /** undefined: nothing that a resource could check. */
  readonly token: number | undefined;
  /** What the peer's own library says, without asking the server. */
  held(): boolean;
  /** Writes to the resource. False: refused as stale. */
  write(value: string): Promise<boolean>;
  /** False: told that it is lost. */
  extend(): Promise<boolean>;
  /** False: told that it was not held any more. */
  release(): Promise<boolean>;
}

export interface Locks {
  /** One look. undefined: somebody else has it. */
  acquire(name: string, leaseMs: number): Promise<Hold | undefined>;
}
