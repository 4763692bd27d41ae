/**
 * One way to guard a call by its key, as its documentation sets it up, and what it is put through.
 *
 * @module
 */
export interface Peer {
  readonly name: string;
  /** `leaseMs`: how long it holds the key while the work runs. */
  call(key: string, work: () => unknown, leaseMs?: number): Promise<unknown>;
  /** What it throws while another call is running. */
  isInFlight(error: unknown): boolean;
}

/** The name of what is done without any of them. */
export const BARE = 'bare SDK calls';

/** Longer than any comparison, so that nothing is renewed under it. */
const HELD_MS = 900_000;

/** In flight from when it settles: the call never ends, as that of a process that died. */
const begin = (peer: Peer, key: string, leaseMs: number): Promise<void> =>
  new Promise((started, failed) => {
    const work = (): Promise<never> => {
      started();
      return new Promise(() => {});
    };
    peer.call(key, work, leaseMs).catch(failed);
  });

export type Case = 'first run' | 'replay' | 'conflict' | 'takeover' | 'failure';

/** Made ready: keys are used once, or are one of these. */
export interface Ready {
  call(key: string): Promise<unknown>;
}

/** Asked for in turn, where a key can be asked for again. */
const KNOWN = 64;
/** Left behind. */
const AT_ONCE = 8;

/** `keys`: all that will be called. `leaseMs`: of what is left behind. */
export async function readyFor(
  peer: Peer,
  what: Case,
  { cell, value, keys, leaseMs }: { cell: string; value: unknown; keys: readonly string[]; leaseMs: number },
): Promise<Ready> {
  const named = (key: string): string => `${cell} ${key}`;
  const known = Array.from({ length: Math.min(KNOWN, keys.length) }, (_, n) => named(`known ${n}`));
  let n = 0;
  const next = (): string => known[n++ % known.length] as string;
  const work = (): unknown => value;
  const never = (): never => {
    throw new Error(`${peer.name}: the work ran although it must not`);
  };
  switch (what) {
    case 'first run':
      return { call: (key) => peer.call(named(key), work) };
    case 'replay':
      for (const key of known) await peer.call(key, work);
      return { call: () => peer.call(next(), never) };
    case 'conflict':
      for (const key of known) await begin(peer, key, HELD_MS);
      return { call: () => rejected(peer.call(next(), never), (error) => peer.isInFlight(error)) };
    case 'takeover':
      for (let at = 0; at < keys.length; at += AT_ONCE) {
        await Promise.all(keys.slice(at, at + AT_ONCE).map((key) => begin(peer, named(key), leaseMs)));
      }
      return { call: (key) => peer.call(named(key), work) };
    case 'failure': {
      const failure = new Error('declined');
      const failing = (): never => {
        throw failure;
      };
      return { call: (key) => rejected(peer.call(named(key), failing), (error) => error === failure) };
    }
  }
}

async function rejected(call: Promise<unknown>, expected: (error: unknown) => boolean): Promise<void> {
  const got = await call.then(
    (value) => new Error(`it was answered with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (!expected(got)) throw got;
}
