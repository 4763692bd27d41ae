import { startAzurite } from '../support/azurite.ts';
import { crashSuite } from './suite.ts';

crashSuite('Table Storage', async () => {
  const azurite = await startAzurite({ services: ['table'] });
  return { place: { kind: 'azure-tables', connectionString: azurite.connectionString, tableName: 'crash' }, stop: () => azurite.stop() };
});
