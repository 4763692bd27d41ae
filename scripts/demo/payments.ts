/**
 * Scenes 1 to 3: one payment, sent again in three ways.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Report } from '../support/report.ts';
import type { WorkerProcess } from './calls.ts';
import { LEASE_MS, type Stage } from './stage.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Base64. */
  readonly body: string;
}

interface Payment {
  readonly key: string;
  readonly orderId: string;
}

const payment = (): Payment => ({ key: randomUUID(), orderId: `order-${randomUUID().slice(0, 8)}` });

const pay = (worker: WorkerProcess, { key, orderId }: Payment): Promise<Answer> =>
  worker.call<Answer>('http', {
    name: 'payments',
    headers: { 'content-type': 'application/json', 'idempotency-key': `"${key}"`, 'x-ms-client-principal-id': 'customer-1' },
    body: JSON.stringify({ orderId, amount: 4200, currency: 'EUR' }),
  });

const headerOf = ({ headers }: Answer, name: string): string | undefined =>
  Object.entries(headers).find(([header]) => header.toLowerCase() === name)?.[1];
const isReplay = (answer: Answer): boolean => headerOf(answer, 'idempotent-replayed') === 'true';
const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status);
const different = (values: readonly string[]): number => new Set(values).size;

/** As a polite client does it: 409 means later. */
async function payUntilDone(worker: WorkerProcess, what: Payment): Promise<{ readonly answer: Answer; readonly refusals: number }> {
  const endsAtMs = performance.now() + LEASE_MS * 5;
  for (let refusals = 0; ; refusals++) {
    const answer = await pay(worker, what);
    if (answer.status !== 409 || performance.now() > endsAtMs) return { answer, refusals };
    await pause(1000 * Number(headerOf(answer, 'retry-after') ?? 1));
  }
}

export async function thrice(report: Report, { provider }: Stage, a: WorkerProcess, b: WorkerProcess): Promise<void> {
  await report.scene('The same payment three times, in two processes', async (expect) => {
    const what = payment();
    const answers = [await pay(a, what), await pay(b, what), await pay(a, what)];
    expect('answers', statuses(answers), [201, 201, 201]);
    expect('marked Idempotent-Replayed', answers.map(isReplay), [false, true, true]);
    expect('different bodies, byte for byte', different(answers.map(({ body }) => body)), 1);
    expect('calls at the payment provider', provider.keysOf(what.orderId).length, 1);
    expect('charges in its file', provider.chargesOf(what.orderId).length, 1);
  });
}

export async function twentyAtOnce(report: Report, { provider }: Stage, a: WorkerProcess, b: WorkerProcess): Promise<void> {
  await report.scene('The same payment twenty times at once, in two processes', async (expect) => {
    const what = payment();
    const held = provider.holdNext('charges');
    const sent = Array.from({ length: 20 }, (_, index) => pay(index % 2 === 0 ? a : b, what));
    // The provider answers only when all the others have been told to come back: so many at once as there can be.
    const told = { count: 0 };
    const allTold = new Promise<void>((resolve) => {
      for (const one of sent) void one.then(() => ++told.count === 19 && resolve());
    });
    await held.arrived;
    await allTold;
    held.release();
    const answers = await Promise.all(sent);
    const refused = answers.filter(({ status }) => status === 409);
    expect('answered 201', answers.filter(({ status }) => status === 201).length, 1);
    expect('answered 409 with Retry-After', refused.filter((answer) => Number(headerOf(answer, 'retry-after')) >= 1).length, 19);
    const again = await Promise.all(refused.map((_, index) => payUntilDone(index % 2 === 0 ? a : b, what)));
    expect('replayed 201 when they came back', again.filter(({ answer }) => answer.status === 201 && isReplay(answer)).length, 19);
    const first = answers.find(({ status }) => status === 201);
    expect('different bodies, byte for byte', different([first?.body ?? '', ...again.map(({ answer }) => answer.body)]), 1);
    expect('calls at the payment provider', provider.keysOf(what.orderId).length, 1);
    expect('charges in its file', provider.chargesOf(what.orderId).length, 1);
  });
}

export async function killed(report: Report, stage: Stage, b: WorkerProcess): Promise<void> {
  await report.scene('The process killed between the charge and the answer', async (expect) => {
    const { provider } = stage;
    const victim = await stage.azureProcess();
    const what = payment();
    const held = provider.holdNext('charges');
    const lost = pay(victim, what).then(
      () => 'answered',
      () => 'no answer',
    );
    await held.arrived;
    const killedAtMs = performance.now();
    await victim.kill();
    held.release();
    expect('the caller of the killed process', await lost, 'no answer');
    const { answer, refusals } = await payUntilDone(b, what);
    const tookMs = performance.now() - killedAtMs;
    expect('its retry in another process', answer.status, 201);
    expect('refused at first: the lease is still held', refusals > 0, true);
    expect(`done within the lease (${LEASE_MS / 1000} s) and a few seconds`, tookMs < LEASE_MS + 5000, true);
    const keys = provider.keysOf(what.orderId);
    expect('calls at the payment provider', keys.length, 2);
    expect('different Idempotency-Keys of those calls', different(keys), 1);
    expect('charges in its file', provider.chargesOf(what.orderId).length, 1);
    const replayed = await pay(b, what);
    expect('once more: the same bytes, replayed', replayed.body === answer.body && isReplay(replayed), true);
  });
}
