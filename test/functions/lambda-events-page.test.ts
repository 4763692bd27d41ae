import { describe, expect, it } from 'vitest';
import { keys } from '../../src/adapters/aws-lambda/index.ts';
import { namedTests, notedPage } from '../support/page-notes.ts';

const { claims, notes, used } = notedPage('docs/lambda-events.md');
const ROWS = [
  ...[
    'API Gateway REST',
    'HTTP API',
    'function URL',
    'load balancer',
    'streamed answers',
    'direct invocation',
    'SNS',
    'S3',
    'EventBridge',
    'schedule',
  ],
  ...['SQS standard', 'SQS FIFO', 'Kinesis', 'DynamoDB streams', 'Kafka', 'ActiveMQ', 'RabbitMQ'],
];
const [, table = ''] = claims.split('\n## The table\n');

describe('the page on event sources', () => {
  it('names a test, or says why there is none, for every letter it uses, and for no other', () => {
    expect(used).toEqual(notes.map(({ id }) => id).sort());
  });

  it.each(notes.filter(({ id }) => !id.startsWith('X')))('names tests that are there: $id', (note) => {
    const named = namedTests(note);
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ isThere }) => !isThere)).toEqual([]);
  });

  it.each(ROWS)('has a test behind each cell of the row %s', (name) => {
    const row = table.split('\n').find((line) => line.startsWith(`| ${name}`)) ?? '';
    const [, , , ...cells] = row.split('|').slice(0, -1);
    expect(cells).toHaveLength(4);
    for (const cell of cells) expect(cell).toMatch(/\[(?!X)[A-Z]\d+\]/);
  });

  it('names every key that can be asked for, and no other', () => {
    const told = new Set([...claims.matchAll(/\bkeys\.(\w+)/g)].map(([, name]) => name as string));
    expect([...told].sort()).toEqual(Object.keys(keys).sort());
    const rows = [...claims.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name as string);
    const webhooks = ['cloudEvent', 'cloudEventHeaders', 'gitHubDelivery', 'standardWebhook', 'stripeEvent'];
    expect([...rows, ...webhooks].sort()).toEqual(Object.keys(keys).sort());
  });
});
