/** Of `redlock` 4, which brings no types: what is used here. */
declare module 'redlock' {
  interface Lock {
    /** Epoch ms; in the source, not in the README. */
    readonly expiration: number;
    extend(ttl: number): Promise<Lock>;
    unlock(): Promise<void>;
  }
  class Redlock {
    static readonly LockError: new () => Error;
    constructor(clients: readonly unknown[], options?: { readonly retryCount?: number });
    lock(resource: string, ttl: number): Promise<Lock>;
    on(event: 'clientError', listener: (error: unknown) => void): void;
  }
  export default Redlock;
}
