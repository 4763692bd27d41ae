import { startAzurite } from '../support/azurite.ts';
import { turnsSuite } from './turns.ts';

turnsSuite({
  provider: 'Blob Storage (Azurite)',
  async start() {
    const azurite = await startAzurite({ services: ['blob'] });
    return { place: { kind: 'azure-blob', connectionString: azurite.connectionString, containerName: 'turns' }, stop: () => azurite.stop() };
  },
  // No lease of the service is shorter: every kill of a holder, and every stop, costs 15 s. So there are few of them.
  leaseMs: 15_000,
  lapseMs: 1_000,
  pollMs: 80,
  lateEvery: 10,
  adds: false,
  kills: [1, 2],
  stops: [1, 2],
  strikes: [0, 2],
  inCi: 'short',
});
