/**
 * Table Storage removes nothing by itself: this takes away the records that are past their retention. Two at once do no harm.
 *
 * @module
 */
import { app } from '@azure/functions';
import { store } from './stores.ts';

app.timer('purge', {
  schedule: '0 30 3 * * *',
  handler: async (_timer, context) => {
    const { removed } = await store.purge({});
    context.log(`purged ${removed} records`);
  },
});
