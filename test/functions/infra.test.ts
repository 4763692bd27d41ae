/**
 * The templates under infra/ and the code that runs on what they make: the same names in both.
 *
 * @module
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/run.ts';

const textOf = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');

async function allOf(folder: string): Promise<string> {
  const files = (await readdir(join(ROOT, folder), { withFileTypes: true })).filter((file) => file.isFile());
  return (await Promise.all(files.map(({ name }) => textOf(join(folder, name))))).join('\n');
}

/** The first group of every match, each once, sorted. */
const found = (text: string, pattern: RegExp): string[] => [...new Set([...text.matchAll(pattern)].map(([, group = '']) => group))].sort();

/** A resource of the template, by its own lines. */
function resource(template: string, name: string): string {
  const at = template.indexOf(`\n  ${name}:\n`);
  if (at < 0) throw new Error(`the template has no ${name}`);
  const rest = template.slice(at + name.length + 4);
  const end = rest.search(/\n {2}\S|\n\S/);
  return end < 0 ? rest : rest.slice(0, end);
}

/** Each event of a function of the template, by its own lines. */
function eventsOf(yaml: string): string[] {
  const [, listed = ''] = /\n {6}Events:\n((?: {8}.*\n)+)/.exec(yaml) ?? [];
  return listed.split(/^(?= {8}\w)/m).filter((event) => event !== '');
}

const numberIn = (text: string, name: string): number => Number(new RegExp(`${name}: (\\d+)`).exec(text)?.[1]);

describe('infra/azure', () => {
  it('makes the tables, the queue and the container that the app and the library open', async () => {
    const [storage, app, orders] = await Promise.all([
      textOf('infra/azure/storage.bicep'),
      allOf('functions/azure'),
      textOf('functions/azure/orders.ts'),
    ]);
    const tables = found(storage, /resource \w+ 'tables' = \{ name: '(\w+)' \}/g);
    const defaultTable = found(await textOf('src/stores/azure-tables/store.ts'), /tableName = '(\w+)'/g);
    expect(tables).toEqual([...found(app, /\btable\('(\w+)'\)/g), ...defaultTable].sort());
    const queue = found(orders, /queueName: '(\w+)'/g);
    expect(found(storage, /resource \w+ 'queues' = \{ name: '([\w-]+)' \}/g)).toEqual([...queue, ...queue.map((name) => `${name}-poison`)]);
    const container = found(await textOf('src/leases/azure-blob/index.ts'), /containerName = '([\w-]+)'/g);
    expect(container).toHaveLength(1);
    expect(found(storage, /resource \w+ 'containers' = \{ name: '([\w-]+)' \}/g)).toEqual(expect.arrayContaining(container));
  });

  it('gives the app every setting that it reads, and no key', async () => {
    const [bicep, source] = await Promise.all([allOf('infra/azure'), allOf('functions/azure')]);
    const settings = found(bicep, /\{ name: '(\w+)', value:/g);
    expect(settings).toEqual(expect.arrayContaining(['LEASE_MS', 'JOB_LEASE_MS', 'PAYMENTS_URL', 'AzureWebJobsStorage__tableServiceUri']));
    expect(settings).toEqual(expect.arrayContaining(found(source, /process\.env\.(\w+)/g)));
    // A connection string in this setting would win over the identity, and hold a key.
    expect(settings).not.toContain('AzureWebJobsStorage');
    expect(bicep).not.toMatch(/listKeys|AccountKey|InstrumentationKey/);
    expect(bicep).toMatch(/allowSharedKeyAccess: false/);
  });

  it('lets the app into every table', async () => {
    const [storage, access] = await Promise.all([textOf('infra/azure/storage.bicep'), textOf('infra/azure/access.bicep')]);
    const names = /var tableNames = \[([^\]]*)\]/.exec(access)?.[1] ?? '';
    expect(found(names, /'(\w+)'/g)).toEqual(found(storage, /resource \w+ 'tables' = \{ name: '(\w+)' \}/g));
  });
});

describe('infra/aws', () => {
  it('makes the table as the store reads and writes it', async () => {
    const [template, store] = await Promise.all([textOf('infra/aws/template.yaml'), textOf('src/stores/dynamodb/index.ts')]);
    const table = resource(template, 'RecordsTable');
    expect(found(table, /TimeToLiveSpecification: \{ AttributeName: (\w+), Enabled: true \}/g)).toEqual(found(store, /ttlAttribute = '(\w+)'/g));
    expect(found(table, /AttributeName: (\w+), KeyType: HASH/g)).toEqual(found(store, /partitionKey = '(\w+)'/g));
    expect(table).toMatch(/BillingMode: PAY_PER_REQUEST/);
    expect(table).toMatch(/PointInTimeRecoveryEnabled: true/);
  });

  it('gives the functions every setting that they read', async () => {
    const [template, source] = await Promise.all([textOf('infra/aws/template.yaml'), allOf('functions/aws')]);
    const variables = found(template.slice(template.indexOf('Variables:'), template.indexOf('\nResources:')), /^ {8}(\w+):/gm);
    expect(variables).toEqual(expect.arrayContaining([...found(source, /process\.env\.(\w+)/g), 'PAYMENTS_URL', 'RERUNSAFE_TABLE']));
  });

  const samples = async () => {
    const template = await textOf('infra/aws/template.yaml');
    const names = found(template, /\n {2}(\w+):\n {4}Type: AWS::Serverless::Function\n/g);
    const ofFunction = async (name: string) => {
      const yaml = resource(template, name);
      const entry = found(yaml, /Handler: (\w+)\.handler/g).join();
      return { name, yaml, entry, source: await textOf(`functions/aws/${entry}.ts`), events: eventsOf(yaml) };
    };
    return { template, functions: await Promise.all(names.map(ofFunction)) };
  };

  it('I6 keeps a message invisible for six times as long as the function may run, and receives it often enough', async () => {
    const { template, functions } = await samples();
    const usualS = numberIn(template.slice(0, template.indexOf('\nResources:')), 'Timeout');
    const fed = functions.flatMap(({ yaml, events }) =>
      events.flatMap((event) => found(event, /Queue: !GetAtt (\w+)\.Arn/g).map((queue) => ({ queue, yaml }))),
    );
    expect(fed.map(({ queue }) => queue)).toEqual(['OrdersQueue', 'OrderedOrdersQueue']);
    for (const { queue, yaml } of fed) {
      const timeoutS = numberIn(yaml, 'Timeout') || usualS;
      expect(numberIn(resource(template, queue), 'VisibilityTimeout')).toBeGreaterThanOrEqual(6 * timeoutS);
      expect(numberIn(resource(template, queue), 'maxReceiveCount')).toBeGreaterThanOrEqual(5);
    }
  });

  it('I6 takes back single items from every function that answers for them, wherever its source can', async () => {
    const { functions } = await samples();
    const batches = functions.filter(({ source }) => source.includes('idempotentEach('));
    expect(batches.map(({ name }) => name)).toEqual(['Audit', 'Orders', 'Views']);
    const mapped = (event: string): boolean => /Type: (SQS|Kinesis|DynamoDB|MSK|SelfManagedKafka)\n/.test(event);
    for (const { name, events } of batches) {
      expect([name, events.length]).not.toEqual([name, 0]);
      for (const event of events) expect([name, mapped(event), event]).toEqual([name, true, expect.stringContaining('[ReportBatchItemFailures]')]);
    }
    for (const { name, events, source } of functions)
      if (events.some(mapped)) expect([name, source]).toEqual([name, expect.stringContaining('idempotentEach(')]);
  });

  it('I3 puts aside what never succeeds: of a stream, and of what is invoked asynchronously', async () => {
    const { functions } = await samples();
    const ofStreams = functions.flatMap(({ events }) => events.filter((event) => /Type: (Kinesis|DynamoDB)\n/.test(event)));
    expect(ofStreams).toHaveLength(2);
    for (const event of ofStreams) {
      expect(event).toMatch(/BisectBatchOnFunctionError: true/);
      expect(numberIn(event, 'MaximumRetryAttempts')).toBeGreaterThan(0);
      expect(event).toMatch(/OnFailure: \{ Type: SQS, Destination: !GetAtt Failed\.Arn \}/);
    }
    const asynchronous = functions.filter(({ events }) => events.some((event) => /Type: (EventBridgeRule|SNS|S3)\n/.test(event)));
    expect(asynchronous.map(({ name }) => name)).toEqual(['Imports', 'Receipts', 'Shipment']);
    for (const { yaml } of asynchronous) {
      expect(yaml).toMatch(/EventInvokeConfig:\n(?: {8}.*\n)*? {10}OnFailure: \{ Type: SQS, Destination: !GetAtt Failed\.Arn \}/);
    }
  });

  it('streams the answers of the function that streams, and of no other', async () => {
    const { functions } = await samples();
    for (const { name, yaml, source } of functions) expect([name, yaml.includes('RESPONSE_STREAM')]).toEqual([name, source.includes('streams:')]);
  });

  it('lets each function do to the app’s table what its code does, and no more', async () => {
    const { functions } = await samples();
    const uses: readonly [pattern: RegExp, ...actions: string[]][] = [
      [/\bput(Once)?\(/, 'PutItem'],
      [/\bUpdate\b/, 'UpdateItem'],
      [/\bfencedUpdate\(/, 'UpdateItem', 'GetItem'],
      [/\bpaginateScan\(/, 'Scan'],
    ];
    for (const { name, yaml, source } of functions) {
      const needed = new Set(uses.flatMap(([pattern, ...actions]) => (pattern.test(source) ? actions : [])));
      const given = /Action: ([^\n]*)\n {14}Resource: !GetAtt AppTable\.Arn/.exec(yaml)?.[1] ?? '';
      expect([name, ...found(given, /dynamodb:(\w+)/g)]).toEqual([name, ...[...needed].sort()]);
      expect(yaml).toMatch(/Action: \[dynamodb:GetItem, dynamodb:PutItem\]\n {14}Resource: !GetAtt RecordsTable\.Arn/);
      expect(yaml).not.toMatch(/\*'?$|Resource: '?\*/m);
    }
  });

  it('names a handler and an entry point that exist for each function, and says which functions it leaves out', async () => {
    const { template, functions } = await samples();
    const handlers = found(template, /Handler: (\w+)\.handler/g);
    expect(functions.map(({ entry }) => entry).sort()).toEqual(handlers);
    expect(found(template, /EntryPoints: \[functions\/aws\/(\w+)\.ts\]/g)).toEqual(handlers);
    const files = (await readdir(join(ROOT, 'functions/aws'))).filter((name) => name.endsWith('.ts'));
    const withHandler: string[] = [];
    for (const file of files) if (/export const handler = /.test(await textOf(`functions/aws/${file}`))) withHandler.push(file.replace('.ts', ''));
    const leftOut = found(template.slice(0, template.indexOf('AWSTemplateFormatVersion')), /functions\/aws\/(\w+)\.ts/g);
    expect([...handlers, ...leftOut].sort()).toEqual(withHandler.sort());
  });
});
