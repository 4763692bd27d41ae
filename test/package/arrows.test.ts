import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROOT, runNode } from './packed.ts';

const PART = 'export const part = 1;';
const TARGETS = [
  'src/core/ports.ts',
  'src/http/key.ts',
  'src/outbox/port.ts',
  'src/azure-storage/settings.ts',
  'src/stores/memory/index.ts',
  'src/stores/dynamodb/index.ts',
  'src/leases/azure-blob/index.ts',
  'src/adapters/aws-lambda/index.ts',
  'src/adapters/azure-functions/index.ts',
  'src/testing/index.ts',
  'src/cli/main.ts',
  'dist/esm/index.js',
];

/** One forbidden import each, and the rule that has to name it. */
const VIOLATIONS: readonly (readonly [from: string, line: string, rule: string])[] = [
  ['src/core/v1.ts', "import '../stores/memory/index.ts';", 'core-knows-nobody'],
  ['src/core/v2.ts', "import '../http/key.ts';", 'core-knows-nobody'],
  ['src/core/v3.ts', "import 'structured-headers';", 'core-libraries'],
  ['src/core/v4.ts', "import type {} from '@azure/functions';", 'core-libraries'],
  ['src/core/v5.ts', "import 'node:fs';", 'core-and-node'],
  ['src/core/v6.ts', "import 'node:timers/promises';", 'core-and-node'],
  ['src/http/v7.ts', "import '../adapters/aws-lambda/index.ts';", 'the-middle-imports-core'],
  ['src/testing/v8.ts', "import '../stores/memory/index.ts';", 'the-middle-imports-core'],
  ['src/stores/memory/v9.ts', "import '../../leases/azure-blob/index.ts';", 'stores-import-core-and-outbox'],
  ['src/outbox/v27.ts', "import '../stores/memory/index.ts';", 'the-middle-imports-core'],
  ['src/http/v28.ts', "import '../outbox/port.ts';", 'the-middle-imports-core'],
  ['src/stores/memory/v29.ts', "import '../../http/key.ts';", 'stores-import-core-and-outbox'],
  ['src/core/v30.ts', "import '../outbox/port.ts';", 'core-knows-nobody'],
  ['src/http/v23.ts', "import '../azure-storage/settings.ts';", 'azure-storage-is-for-azure'],
  ['src/stores/dynamodb/v24.ts', "import '../../azure-storage/settings.ts';", 'azure-storage-is-for-azure'],
  ['src/azure-storage/v25.ts', "import '../stores/memory/index.ts';", 'azure-storage-imports-core'],
  ['src/azure-storage/v26.ts', "export { ManagedIdentityCredential } from '@azure/identity';", 'sdks-load-late'],
  ['src/stores/memory/v10.ts', "import '../dynamodb/index.ts';", 'stores-are-strangers'],
  ['src/adapters/aws-lambda/v11.ts', "import '../../stores/dynamodb/index.ts';", 'adapters-know-no-store'],
  ['src/adapters/aws-lambda/v12.ts', "import '../azure-functions/index.ts';", 'adapters-are-strangers'],
  ['src/index.ts', "import './adapters/aws-lambda/index.ts';", 'index-is-small'],
  ['src/stores/memory/v13.ts', "import '../../cli/main.ts';", 'nobody-imports-the-entries'],
  ['src/stores/dynamodb/v14.ts', "import { DynamoDBClient } from '@aws-sdk/client-dynamodb'; void DynamoDBClient;", 'sdks-load-late'],
  ['src/stores/postgres/v31.ts', "import pg from 'pg'; void pg;", 'sdks-load-late'],
  ['src/leases/azure-blob/v15.ts', "export { BlobClient } from '@azure/storage-blob';", 'sdks-load-late'],
  ['functions/azure/v16.ts', "import '../../src/core/ports.ts';", 'functions-use-the-name'],
  ['functions/azure/v17.ts', "import '../../dist/esm/index.js';", 'functions-not-from-dist'],
  ['src/core/v18.ts', "import './v22.ts';", 'no-cycles'],
  ['src/core/v19.ts', "import './no-such-file.ts';", 'resolvable'],
  ['src/http/v31.ts', "import 'commander';", 'libraries-of-the-command-line'],
  ['src/telemetry/log/v32.ts', "import '@opentelemetry/api';", 'opentelemetry-is-for-its-entry'],
  ['src/core/v33.ts', "import type { Span } from '@opentelemetry/api'; export type S = Span;", 'opentelemetry-is-for-its-entry'],
  ['src/stores/memory/v20.ts', "import 'magic-string';", 'no-undeclared-packages'],
];

/** What a rule must let through. */
const ALLOWED: readonly (readonly [from: string, line: string])[] = [
  ['src/core/a.ts', "import 'devalue'; import 'canonicalize'; import 'node:crypto'; import 'node:async_hooks'; import './ports.ts';"],
  ['src/outbox/a.ts', "import '../core/ports.ts'; import './port.ts';"],
  ['src/stores/dynamodb/d.ts', "import '../../outbox/port.ts';"],
  ['src/stores/dynamodb/a.ts', "import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'; export type C = DynamoDBClient;"],
  ['src/stores/postgres/a.ts', "import type { Pool } from 'pg'; export type P = Pool;"],
  ['src/stores/dynamodb/b.ts', "import '../../core/ports.ts'; export const load = () => import('@aws-sdk/client-dynamodb');"],
  ['src/azure-storage/a.ts', "import '../core/ports.ts'; import './settings.ts'; export const load = () => import('@azure/identity');"],
  ['src/stores/azure-tables/a.ts', "import '../../azure-storage/settings.ts';"],
  ['src/leases/azure-blob/a.ts', "import '../../azure-storage/settings.ts';"],
  ['src/stores/dynamodb/c.ts', "export type Sdk = typeof import('@aws-sdk/client-dynamodb');"],
  ['src/adapters/aws-lambda/a.ts', "import '../../core/ports.ts'; import '../../http/key.ts'; import 'structured-headers';"],
  ['src/cli/a.ts', "import '../stores/dynamodb/index.ts'; import '../adapters/aws-lambda/index.ts';"],
  ['src/index.ts', "import './core/ports.ts'; import './stores/memory/index.ts';"],
  ['functions/azure/a.ts', "import 'rerunsafe';"],
  ['src/core/c.ts', "import { d } from './d.ts'; export interface C { n: number } export const c = d;"],
  ['src/core/d.ts', "import type { C } from './c.ts'; export const d: C = { n: 1 };"],
];

type Broken = readonly (readonly [from: string, rule: string])[];

/** Lays the files out in a tree of their own and runs the real rules over it, once: a start of the checker costs a second. */
async function brokenRules(files: readonly (readonly [path: string, text: string])[]): Promise<Broken> {
  const tree = await mkdtemp(join(tmpdir(), 'rerunsafe-arrows-'));
  try {
    for (const path of ['.dependency-cruiser.cjs', 'package.json']) await cp(join(ROOT, path), join(tree, path));
    await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
    for (const [path, text] of [...TARGETS.map((path) => [path, PART] as const), ...files]) {
      await mkdir(dirname(join(tree, path)), { recursive: true });
      await writeFile(join(tree, path), `${text}\n`);
    }
    const bin = join(ROOT, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
    const { stdout, stderr } = await runNode(tree, bin, '--config', '.dependency-cruiser.cjs', '-T', 'json', 'src', 'functions');
    if (stdout === '') throw new Error(stderr);
    const report = JSON.parse(stdout) as { summary: { violations: { from: string; rule: { name: string } }[] } };
    return report.summary.violations.map(({ from, rule }) => [from, rule.name] as const);
  } finally {
    await rm(tree, { recursive: true, force: true });
  }
}

describe('the arrows between the parts', () => {
  let broken: Broken;
  beforeAll(async () => {
    broken = await brokenRules([...VIOLATIONS.map(([from, line]) => [from, line] as const), ['src/core/v22.ts', "import './v18.ts';"]]);
  });

  it.each(VIOLATIONS)('refuse in %s: %s', (from, _line, rule) => {
    expect(broken).toContainEqual([from, rule]);
  });

  it('allow what is meant to be', async () => {
    expect(await brokenRules(ALLOWED)).toEqual([]);
  });
});
