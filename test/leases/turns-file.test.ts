import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { memoryFolder } from './memory-folder.ts';
import { turnsSuite } from './turns.ts';

turnsSuite({
  provider: 'files',
  async start() {
    const directory = await mkdtemp(join(memoryFolder(), 'rerunsafe-file-turns-'));
    return { place: { kind: 'file', directory }, stop: () => rm(directory, { recursive: true, force: true }) };
  },
  leaseMs: 300,
  // Whoever is stopped keeps the lock of the kernel until it goes on.
  lapseMs: 150,
  pollMs: 6,
  lateEvery: 10,
  adds: true,
  kills: [5, 15],
  stops: [5, 15],
  strikes: [4, 15],
});
