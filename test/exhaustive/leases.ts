import { getEventListeners } from 'node:events';
import { isRerunSafeError } from '../../src/core/errors.ts';
import { type Lease, type LeaseOptions, tryAcquire } from '../../src/core/lease.ts';
import type { LeaseProvider, RecordStore } from '../../src/core/ports.ts';
import { storeLeases } from '../../src/core/store-leases.ts';
import type { Caller } from './caller.ts';
import { clientOf, withCountedRevisions } from './client.ts';
import type { Play } from './scope.ts';
import type { World } from './world.ts';

export interface LeasePlayOptions {
  readonly leaseMs: number;
  readonly waitMs?: number;
  readonly renew?: 'auto';
  /** The engine sees the caller's store through this; a wrong one in controls. */
  readonly client?: (store: RecordStore, caller: Caller) => RecordStore;
}

interface Hold {
  readonly caller: Caller;
  lease?: Lease;
  holdsUntilMs: number;
  end?: string;
}

/** One named lease that all callers want, to write to a resource that refuses a lower token than it has seen. */
export function leasePlay(options: LeasePlayOptions): (world: World) => Play {
  return (world) => new LeasePlay(world, options);
}

class LeasePlay implements Play {
  readonly #world: World;
  readonly #options: LeasePlayOptions;
  readonly #holds: Hold[] = [];
  readonly #providers = new Map<Caller, LeaseProvider>();
  /** Of the resource: the highest token, and whose it was. */
  #highest = { token: 0, owner: '' };

  constructor(world: World, options: LeasePlayOptions) {
    this.#world = world;
    this.#options = options;
  }

  #wrong(what: string): void {
    this.#world.wrong.push(what);
  }

  #provider(caller: Caller): LeaseProvider {
    const { client = (store: RecordStore) => store } = this.#options;
    const provider = this.#providers.get(caller) ?? storeLeases(client(withCountedRevisions(clientOf(caller), caller.name), caller));
    this.#providers.set(caller, provider);
    return provider;
  }

  async call(caller: Caller): Promise<void> {
    const hold: Hold = { caller, holdsUntilMs: 0 };
    this.#holds.push(hold);
    const { leaseMs, waitMs = 0, renew = 'none' } = this.#options;
    const cancel = new AbortController();
    const { name } = caller;
    const options: LeaseOptions = { leaseMs, renew, label: name, signal: cancel.signal, waitMs: name === 'last' ? leaseMs + 1_000 : waitMs };
    try {
      const got = await tryAcquire(this.#provider(caller), 'job', options, caller);
      hold.end = got.kind;
      if (got.kind === 'held' && !caller.sawOther) this.#wrong(`I7 ${name} was told "held" because of itself`);
      if (got.kind === 'acquired') hold.end += ` and ${await this.#use(hold, got.lease)}`;
      caller.wantsToCall = got.kind === 'held';
    } catch (thrown) {
      hold.end = isRerunSafeError(thrown) ? thrown.code : String(thrown);
      caller.wantsToCall = true;
      this.#refused(hold);
    }
    hold.holdsUntilMs = 0;
    if (getEventListeners(cancel.signal, 'abort').length > 0) this.#wrong(`I12 ${name} left a listener behind`);
  }

  #refused({ caller: { name, calls }, end }: Hold): void {
    if (end !== 'WRITE_UNKNOWN' && end !== 'STORE_UNAVAILABLE') this.#wrong(`${name} threw ${end}`);
    if (this.#isCalm) this.#wrong(`I10 ${name} threw ${end}, and there was no fault`);
    const { standing } = this.#world;
    if (end === 'STORE_UNAVAILABLE' && standing?.state === 'running' && standing.owner.startsWith(`${name}${calls}-`))
      this.#wrong(`I8 ${name} was told that nothing was changed, while its lease stands`);
  }

  async #use(hold: Hold, lease: Lease): Promise<string> {
    const { caller } = hold;
    const { name } = caller;
    const { nowMs, judge } = this.#world;
    const { owner, token } = lease.fence;
    if (lease.remainingMs() <= 0) this.#wrong(`I6 ${name} was handed a lease that is over`);
    if (judge.tokens.get(owner)?.has(token) !== true) this.#wrong(`I5 ${name} was handed another token than the store has`);
    for (const other of this.#holds)
      if (other !== hold && !other.caller.dead && other.holdsUntilMs > nowMs) this.#wrong(`I6 ${name} holds while ${other.caller.name} does`);
    hold.lease = lease;
    hold.holdsUntilMs = nowMs + lease.remainingMs();
    const wrote = await caller.send('write', async () => this.#write(owner, token)).catch(() => 'unknown');
    await caller.point();
    hold.holdsUntilMs = 0;
    const released = await lease.release();
    if (released === 'released' && !judge.released.has(owner)) this.#wrong(`I8 ${name} was told "released"; nothing was`);
    if (released === 'lost' && this.#isCalm) this.#wrong(`I4 ${name} lost its lease, and there was no fault`);
    return `${wrote}, ${released}`;
  }

  /** What a fenced store does. Two owners with one token it could not tell apart. */
  #write(owner: string, token: number): string {
    if (token < this.#highest.token) return 'refused';
    if (token === this.#highest.token && owner !== this.#highest.owner) this.#wrong(`I5 ${owner} wrote with the token of ${this.#highest.owner}`);
    this.#highest = { token, owner };
    this.#world.accepted = this.#world.names.of(`${this.#world.accepted}/${owner} ${token}`);
    return 'written';
  }

  get #isCalm(): boolean {
    const { faults, calls } = this.#world.scope;
    return faults.length === 0 && calls === 1 && this.#options.waitMs === undefined && this.#options.renew === undefined;
  }

  ended(): void {
    const { end } = this.#holds.at(-1) as Hold;
    if (end !== 'acquired and written, released') this.#wrong(`I10 the last caller: ${end}`);
  }

  summary(): string {
    const { standing } = this.#world;
    return `${this.#holds
      .map(({ caller, end }) => `${caller.name}${caller.dead ? '†' : ''}: ${end}`)
      .sort()
      .join(', ')}; ${standing?.state} of ${standing?.holder}`;
  }
}
