/**
 * A share of the seeds, in a thread of its own.
 *
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads';
import { type Range, runBatch } from './batch.ts';

parentPort?.postMessage(await runBatch(workerData as Range));
