/**
 * The Storage Queue listener of the Functions host: takes messages off a queue, hands them to a function, and deletes one only after the function has
 * succeeded.
 *
 * @module
 */
import type { DequeuedMessageItem, QueueClient } from '@azure/storage-queue';
import type { FunctionsHost } from './functions-host.ts';

export interface Delivery {
  readonly messageId: string;
  readonly dequeueCount: number;
  /** Until the function had settled. */
  readonly tookMs: number;
  /** `taken-away`: the message had become visible meanwhile, and somebody else has it now. */
  readonly end: 'deleted' | 'released' | 'poisoned' | 'taken-away';
  /** What the function threw: its code, else its message. */
  readonly error?: string;
}

export interface ListenOptions {
  readonly queue: QueueClient;
  readonly poison: QueueClient;
  /** Messages worked on at once. */
  readonly batchSize: number;
  /** For how long a received message is hidden, s. The host takes ten minutes and renews; here it is not renewed. */
  readonly hiddenS: number;
  /** `visibilityTimeout` of host.json, s: when a failed message may be received again. */
  readonly retryAfterS: number;
  /** `maxDequeueCount` of host.json. */
  readonly maxDequeueCount: number;
  received?(messageId: string, dequeueCount: number): void;
  settled?(delivery: Delivery): void;
}

const IDLE_MS = 100;

/** Listens for as long as the process lives. Rejects when the queue cannot be read. */
export async function listen(host: FunctionsHost, functionName: string, options: ListenOptions): Promise<never> {
  const { queue, batchSize, hiddenS } = options;
  const running = new Set<Promise<void>>();
  for (;;) {
    const free = batchSize - running.size;
    const { receivedMessageItems } = free > 0 ? await queue.receiveMessages({ numberOfMessages: free, visibilityTimeout: hiddenS }) : NOTHING;
    for (const message of receivedMessageItems) {
      options.received?.(message.messageId, message.dequeueCount);
      const one: Promise<void> = deliver(host, functionName, message, options).finally(() => running.delete(one));
      running.add(one);
    }
    if (receivedMessageItems.length < free) running.add(idle(running));
    if (running.size > 0) await Promise.race(running);
  }
}

const NOTHING = { receivedMessageItems: [] as DequeuedMessageItem[] };

function idle(running: Set<Promise<void>>): Promise<void> {
  const over: Promise<void> = new Promise<void>((resolve) => setTimeout(resolve, IDLE_MS)).finally(() => running.delete(over));
  return over;
}

async function deliver(host: FunctionsHost, functionName: string, message: DequeuedMessageItem, options: ListenOptions): Promise<void> {
  const { messageId, dequeueCount } = message;
  const began = performance.now();
  // A message whose consumers died one after the other was never released: it is poison as well.
  const error = dequeueCount > options.maxDequeueCount ? 'dequeued too often' : await failureOf(() => invoke(host, functionName, message));
  const tookMs = Math.round(performance.now() - began);
  const end = await settle(message, error === undefined, options);
  options.settled?.({ messageId, dequeueCount, tookMs, end, ...(error === undefined ? {} : { error }) });
}

const invoke = (host: FunctionsHost, functionName: string, { messageId, dequeueCount, popReceipt, messageText }: DequeuedMessageItem) =>
  host.invoke(
    functionName,
    { string: Buffer.from(messageText, 'base64').toString() },
    { Id: { string: messageId }, DequeueCount: { json: String(dequeueCount) }, PopReceipt: { string: popReceipt } },
  );

async function failureOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const { code, message } = error as { code?: string; message?: string };
    return code ?? message ?? String(error);
  }
}

async function settle(message: DequeuedMessageItem, succeeded: boolean, options: ListenOptions): Promise<Delivery['end']> {
  const { queue, poison, retryAfterS, maxDequeueCount } = options;
  const { messageId, popReceipt, messageText, dequeueCount } = message;
  try {
    if (!succeeded && dequeueCount < maxDequeueCount) {
      await queue.updateMessage(messageId, popReceipt, messageText, retryAfterS);
      return 'released';
    }
    // First the copy: a crash in between leaves two messages, the other order leaves none.
    if (!succeeded) await poison.sendMessage(messageText);
    await queue.deleteMessage(messageId, popReceipt);
    return succeeded ? 'deleted' : 'poisoned';
  } catch (error) {
    // A receipt is good only until the next one who receives the message.
    const { statusCode } = error as { statusCode?: number };
    if (statusCode === 404 || statusCode === 400) return 'taken-away';
    throw error;
  }
}
