/**
 * Books invoices that the accounting sends through Amazon MQ, ActiveMQ or RabbitMQ alike.
 *
 * @module
 */
import { type ActiveMqMessage, idempotentEach, type RabbitMqMessage } from 'rerunsafe/aws-lambda';
import { put, store } from './stores.ts';

interface Invoice {
  readonly number: string;
  readonly amount: number;
}

type Message = ActiveMqMessage | RabbitMqMessage;

const invoiceOf = ({ data }: Message): Invoice => JSON.parse(Buffer.from(data, 'base64').toString()) as Invoice;

export const handler = idempotentEach(
  { store, operation: 'invoices/book', key: (message: Message) => invoiceOf(message).number },
  async (message, _context, run) => {
    const { number, amount } = invoiceOf(message);
    await put(`invoice/${number}`, { amount, bookedAt: new Date().toISOString() }, run.signal);
  },
);
