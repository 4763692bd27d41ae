import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { memoryFolder } from './memory-folder.ts';
import { turnsSuite } from './turns.ts';

turnsSuite({
  provider: 'SQLite',
  async start() {
    const folder = await mkdtemp(join(memoryFolder(), 'rerunsafe-sqlite-turns-'));
    return { place: { kind: 'sqlite', path: join(folder, 'records.db') }, stop: () => rm(folder, { recursive: true, force: true }) };
  },
  leaseMs: 600,
  lapseMs: 0,
  pollMs: 15,
  lateEvery: 10,
  adds: true,
  kills: [5, 15],
  stops: [5, 15],
  strikes: [3, 15],
});
