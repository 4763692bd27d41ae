import { startAzurite } from '../support/azurite.ts';
import { turnsSuite } from './turns.ts';

turnsSuite({
  provider: 'Table Storage (Azurite)',
  async start() {
    const azurite = await startAzurite({ services: ['table'] });
    return { place: { kind: 'azure-tables', connectionString: azurite.connectionString, tableName: 'turns' }, stop: () => azurite.stop() };
  },
  inCi: 'short',
  leaseMs: 1_000,
  // Its uncertainty, and what a response's Date, which is cut to seconds, hides.
  lapseMs: 2_000,
  pollMs: 100,
  lateEvery: 10,
  adds: true,
  kills: [2, 6],
  stops: [2, 6],
  strikes: [1, 4],
});
