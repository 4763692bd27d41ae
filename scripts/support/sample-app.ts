/**
 * The sample app as it is built, in the stand-in for the Functions host: what the platform does with it, and nothing of its own.
 *
 * @module
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { QueueClient } from '@azure/storage-queue';
import { ROOT } from '../run.ts';
import { type FunctionsHost, installFunctionsCore } from './functions-host.ts';

const AZURE = join(ROOT, 'functions/dist/azure');

/** Loads every file that `main` of package.json names. */
export async function loadAzureApp(): Promise<FunctionsHost> {
  const host = installFunctionsCore();
  const files = (await readdir(AZURE)).filter((file) => file.endsWith('.js')).sort();
  for (const file of files) await import(pathToFileURL(join(AZURE, file)).href);
  await host.start();
  return host;
}

/** An occurrence of a timer's schedule, as the host tells it. */
export function timerInput(slot: Date): { readonly json: string } {
  const next = slot.toISOString();
  const last = new Date(slot.getTime() - 86_400_000).toISOString();
  return {
    json: JSON.stringify({ Schedule: { AdjustForDST: true }, ScheduleStatus: { Last: last, Next: next, LastUpdated: last }, IsPastDue: false }),
  };
}

export interface Delivered {
  readonly messageId: string;
  readonly popReceipt: string;
  readonly dequeueCount: number;
  /** What the function has logged. */
  readonly logs: readonly string[];
}

/**
 * Takes one message off a queue and hands it to a function. Not deleted: that is what a host does afterwards, if it lives to see it.
 *
 * @returns undefined when no message is visible.
 */
export async function deliverOne(host: FunctionsHost, name: string, queue: QueueClient, visibilityTimeoutS: number): Promise<Delivered | undefined> {
  const { receivedMessageItems } = await queue.receiveMessages({ numberOfMessages: 1, visibilityTimeout: visibilityTimeoutS });
  const message = receivedMessageItems[0];
  if (message === undefined) return undefined;
  const { messageId, popReceipt, dequeueCount, messageText } = message;
  const text = Buffer.from(messageText, 'base64').toString();
  const { logs } = await host.invoke(name, { string: text }, { id: { string: messageId }, dequeueCount: { json: String(dequeueCount) } });
  return { messageId, popReceipt, dequeueCount, logs: logs.map((log) => log.text) };
}

/** As a producer writes it for the queue trigger, whose messages are base64 by default. */
export const queueText = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64');
