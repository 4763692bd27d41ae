/**
 * The sample app on this machine: its functions over HTTP, its queue and its timers, on Azurite and a stand-in for the payment provider.
 *
 * @module
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAzurite } from '../test/support/azurite.ts';
import { serveApp } from './support/app-server.ts';
import { startPaymentProvider } from './support/payment-provider.ts';
import { deliverOne, loadAzureApp } from './support/sample-app.ts';
import { azureQueue, setUpAzure } from './support/sample-storage.ts';

const ends: (() => Promise<unknown>)[] = [];
const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stopping.abort());
const stopped = new Promise<void>((resolve) => stopping.signal.addEventListener('abort', () => resolve()));

const hints = (url: string): string => `
The sample app listens on ${url}

Pay, as often as you like; one charge:
  curl -i ${url}/api/payments -H 'content-type: application/json' -H 'idempotency-key: "first"' \\
    -H 'x-ms-client-principal-id: me' -d '{"orderId":"order-1","amount":4200,"currency":"EUR"}'

The same key with another amount is refused (422); without a key (400) and without a caller (401) too.

Put an order on the queue, twice; it is taken once, as you will see here:
  curl -i ${url}/admin/queues/orders -d '{"orderId":"order-1","customer":"me","amount":4200}'

Run the nightly job now:
  curl -i -X POST ${url}/admin/functions/nightly

Stop with Ctrl-C.
`;

async function start(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'rerunsafe-start-'));
  ends.push(() => rm(folder, { recursive: true, force: true }));
  const provider = await startPaymentProvider(join(folder, 'charges.jsonl'));
  ends.push(() => provider.stop());
  const azurite = await startAzurite();
  ends.push(() => azurite.stop());
  await setUpAzure(azurite.connectionString);

  process.env.AzureWebJobsStorage = azurite.connectionString;
  process.env.PAYMENTS_URL = provider.url;
  const host = await loadAzureApp();
  const orders = azureQueue(azurite.connectionString, 'orders');
  const server = await serveApp(host, orders, Number(process.env.PORT ?? 7071));
  ends.push(() => server.stop());
  process.stdout.write(hints(server.url));

  const consume = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const delivered = await deliverOne(host, 'orders', orders, 30).catch((error: unknown) => console.error('orders:', error));
      if (delivered) {
        process.stdout.write(`orders: ${delivered.logs.join(', ') || 'taken before, nothing to do'}\n`);
        await orders.deleteMessage(delivered.messageId, delivered.popReceipt).catch(() => {});
      } else await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, 500))]);
    }
  };
  const consuming = consume();
  ends.push(() => consuming);
}

let code = 0;
await Promise.race([
  stopped,
  start().then(
    () => stopped,
    (error: unknown) => {
      console.error(error);
      code = 1;
    },
  ),
]);
stopping.abort();
for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end().catch(() => {});
process.exit(code);
