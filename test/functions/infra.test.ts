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

  it('I6 keeps a message invisible for six times as long as the function may run, and takes back single items', async () => {
    const template = await textOf('infra/aws/template.yaml');
    const timeoutS = numberIn(template.slice(0, template.indexOf('\nResources:')), 'Timeout');
    const orders = resource(template, 'Orders');
    expect(orders).not.toMatch(/Timeout:/);
    expect(numberIn(resource(template, 'OrdersQueue'), 'VisibilityTimeout')).toBeGreaterThanOrEqual(6 * timeoutS);
    expect(orders).toMatch(/FunctionResponseTypes: \[ReportBatchItemFailures\]/);
  });

  it('names a handler and an entry point that exist for each function', async () => {
    const template = await textOf('infra/aws/template.yaml');
    const handlers = found(template, /Handler: (\w+)\.handler/g);
    expect(found(template, /EntryPoints: \[functions\/aws\/(\w+)\.ts\]/g)).toEqual(handlers);
    for (const name of handlers) expect(await textOf(`functions/aws/${name}.ts`)).toMatch(/export const handler = /);
  });
});
