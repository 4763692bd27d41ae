/**
 * The sample app as it is built (`functions/dist`), the way the platforms load it.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../scripts/run.ts';

interface Loaded {
  readonly functions: Readonly<Record<string, string>>;
  readonly handlers: readonly string[];
  readonly sdks: readonly string[];
}

/** In a process of its own: what this one has loaded already would not be loaded again. */
const LOAD = `
  import { readdirSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  const sdks = new Set();
  const SDK = /node_modules.((?:@azure.(?:data-tables|storage-blob|storage-queue|identity|core-[a-z-]+))|@aws-sdk.[a-z-]+)/;
  registerHooks({ load(url, context, next) { const found = SDK.exec(url); if (found) sdks.add(found[1]); return next(url, context); } });
  const { loadAzureApp } = await import('./scripts/support/sample-app.ts');
  const host = await loadAzureApp();
  const functions = {};
  for (const { name, bindings } of host.functions.values()) functions[name] = Object.values(bindings).find(({ type }) => /trigger$/i.test(type)).type;
  const handlers = [];
  for (const name of readdirSync('./functions/dist/aws').sort()) {
    const { handler } = await import('./functions/dist/aws/' + name);
    if (typeof handler === 'function') handlers.push(name.replace('.js', '/') + handler.length);
  }
  process.stdout.write(JSON.stringify({ functions, handlers, sdks: [...sdks] }));
`;

async function load(): Promise<Loaded> {
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', LOAD], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, RERUNSAFE_TABLE: 'rerunsafe' },
  });
  return JSON.parse(stdout) as Loaded;
}

describe('the sample app', () => {
  it('loads without settings and without any SDK, and registers every function', async () => {
    const { functions, handlers, sdks } = await load();
    expect(functions).toEqual({ payments: 'httpTrigger', orders: 'queueTrigger', nightly: 'timerTrigger', purge: 'timerTrigger' });
    const events = ['audit/2', 'imports/2', 'invoices/2', 'nightly/2', 'orders/2', 'payments/2', 'receipts/2', 'refund/2', 'shipment/2'];
    expect(handlers).toEqual([...events, 'statement/3', 'stock/2', 'views/2', 'vouchers/2']);
    expect(sdks).toEqual([]);
  });

  it('is found by the pattern that the Azure worker reads from package.json', async () => {
    const { main } = (await import(join(ROOT, 'package.json'), { with: { type: 'json' } })).default as { main: string };
    expect(main).toBe('functions/dist/azure/*.js');
  });
});
