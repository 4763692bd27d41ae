import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, open, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import type { Acquired, LeaseProvider } from '../../../src/core/ports.ts';
import { fileNameOf } from '../../../src/leases/file/file-name.ts';
import { fileLeases } from '../../../src/leases/file/index.ts';
import type { LeaseRecord } from '../../../src/leases/file/record.ts';
import { decode, encode, nextSlot, SLOT_BYTES } from '../../../src/leases/file/slots.ts';

export const NAME = 'nightly';
/** Outlasts any pause of a slow machine. */
export const LONG_MS = 60_000;

export interface Holder {
  readonly owner: string;
  readonly token: number;
}

export class FileSubject {
  root = '';
  directory = '';
  /** Of the lease {@link NAME}. */
  path = '';
  leases!: Required<LeaseProvider>;

  async open(): Promise<void> {
    this.root = await mkdtemp(join(tmpdir(), 'rerunsafe-file-'));
    this.directory = join(this.root, 'leases');
    await mkdir(this.directory, { mode: 0o700 });
    this.leases = fileLeases({ directory: this.directory });
    this.path = join(this.directory, fileNameOf(NAME));
  }

  ask(from: LeaseProvider = this.leases): Promise<Acquired> {
    return from.acquire(NAME, { owner: randomUUID(), leaseMs: LONG_MS });
  }

  async hold({
    leaseMs = LONG_MS,
    from = this.leases as LeaseProvider,
    ...rest
  }: {
    leaseMs?: number;
    from?: LeaseProvider;
    slot?: number;
  } = {}): Promise<Holder> {
    const owner = randomUUID();
    const got = await from.acquire(NAME, { owner, leaseMs, ...rest });
    if (got.kind !== 'acquired') throw new Error(`not acquired: ${JSON.stringify(got)}`);
    return { owner, token: got.token };
  }

  renew(holder: Holder): Promise<'renewed' | 'lost'> {
    return this.leases.renew(NAME, { ...holder, leaseMs: LONG_MS });
  }

  /** Writes over what stands, as a holder would. */
  async rewrite(change: (record: LeaseRecord) => LeaseRecord): Promise<void> {
    const { entry } = decode(await readFile(this.path));
    const file = await open(this.path, 'r+');
    const bytes = encode((entry?.seq ?? 0) + 1, change(entry?.body as LeaseRecord));
    await file.write(bytes, 0, bytes.length, nextSlot(entry) * SLOT_BYTES);
    await file.close();
  }

  /** What this process has open below {@link root}. */
  async openFiles(): Promise<string[]> {
    const links = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    return links.filter((to) => to.startsWith(this.root));
  }
}

/** A directory of its own for each test. */
export function fileSubject(): FileSubject {
  const subject = new FileSubject();
  beforeEach(() => subject.open());
  afterEach(() => rm(subject.root, { recursive: true, force: true }));
  return subject;
}
