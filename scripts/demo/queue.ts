/**
 * Scene 4: a message that comes back.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Report } from '../support/report.ts';
import { type Delivered, queueText } from '../support/sample-app.ts';
import { azureQueue, azureTable } from '../support/sample-storage.ts';
import type { WorkerProcess } from './calls.ts';
import type { Stage } from './stage.ts';

/** How long a received message is invisible to others. */
const VISIBILITY_TIMEOUT_S = 2;

export async function redelivered(report: Report, stage: Stage, b: WorkerProcess): Promise<void> {
  await report.scene('A queue message whose consumer is killed before it deletes it', async (expect) => {
    const { connectionString } = stage.azurite;
    const victim = await stage.azureProcess();
    const orderId = `order-${randomUUID().slice(0, 8)}`;
    await azureQueue(connectionString, 'orders').sendMessage(queueText({ orderId, customer: 'customer-1', amount: 4200 }));

    const first = await victim.call<Delivered | undefined>('deliver', { visibilityTimeoutS: VISIBILITY_TIMEOUT_S });
    await victim.kill();
    expect('first delivery', first?.dequeueCount, 1);
    const before = await rowsOf(connectionString, orderId);
    expect('order rows', before.length, 1);

    const second = await untilVisible(b);
    expect('the same message, delivered again', [second?.messageId === first?.messageId, second?.dequeueCount], [true, 2]);
    await b.call('acknowledge', second);
    const after = await rowsOf(connectionString, orderId);
    expect('order rows', after.length, 1);
    expect('the row was not written a second time', after[0] !== undefined && after[0] === before[0], true);
    const { approximateMessagesCount } = await azureQueue(connectionString, 'orders').getProperties();
    expect('messages left in the queue', approximateMessagesCount, 0);
  });
}

async function untilVisible(worker: WorkerProcess): Promise<Delivered | undefined> {
  for (const endsAtMs = performance.now() + VISIBILITY_TIMEOUT_S * 5000; performance.now() < endsAtMs; await pause(200)) {
    const delivered = await worker.call<Delivered | undefined>('deliver', { visibilityTimeoutS: 30 });
    if (delivered !== undefined) return delivered;
  }
  return undefined;
}

/** The ETags of an order's rows: another write of the same row has another one. */
async function rowsOf(connectionString: string, orderId: string): Promise<string[]> {
  const etags: string[] = [];
  const rows = azureTable(connectionString, 'orders').listEntities({ queryOptions: { filter: `orderId eq '${orderId}'` } });
  for await (const { etag } of rows) etags.push(etag);
  return etags;
}
