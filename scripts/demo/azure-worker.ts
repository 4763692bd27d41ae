/**
 * A process of the function app.
 *
 * @module
 */
import { subscribe } from 'node:diagnostics_channel';
import azureFunctions from '@azure/functions';
import type { HttpCallInit } from '../support/functions-host.ts';
import { deliverOne, loadAzureApp, timerInput } from '../support/sample-app.ts';
import { azureQueue } from '../support/sample-storage.ts';
import { serve } from './calls.ts';

const host = await loadAzureApp();
const orders = azureQueue(process.env.AzureWebJobsStorage ?? '', 'orders');

const { log } = serve({
  async http({ name, ...request }: HttpCallInit & { name: string }) {
    const { status, headers, body } = await host.http(name, request);
    return { status, headers, body: body.toString('base64') };
  },
  async timer({ name, slotMs }: { name: string; slotMs: number }) {
    await host.invoke(name, timerInput(new Date(slotMs)));
  },
  deliver: ({ visibilityTimeoutS }: { visibilityTimeoutS: number }) => deliverOne(host, 'orders', orders, visibilityTimeoutS),
  async acknowledge({ messageId, popReceipt }: { messageId: string; popReceipt: string }) {
    await orders.deleteMessage(messageId, popReceipt);
  },
});

// What the functions log goes out at once: a run that ends badly has things to say too.
azureFunctions.app.hook.preInvocation(({ invocationContext }) => {
  for (const level of ['log', 'warn'] as const) invocationContext[level] = (...parts: unknown[]) => log(parts.join(' '));
});
for (const channel of ['rerunsafe:run', 'rerunsafe:lease']) {
  subscribe(channel, (message) => log(`${channel} ${(message as { event: string }).event}`));
}
