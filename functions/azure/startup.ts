/**
 * Says in the log, when the app starts, what in host.json or in the choices of the functions would hurt later.
 *
 * @module
 */
import { app } from '@azure/functions';
import { startCheck } from 'rerunsafe/azure-functions';
import { leaseMs } from './stores.ts';

app.hook.appStart(startCheck({ leaseMs }));
