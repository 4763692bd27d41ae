import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { entriesOf, type Packed, pack, ROOT, readManifest, runNode } from './packed.ts';

/** Without the second line an entry whose types are not found would be `any`, and every use of it would check. */
const CONSUMER = (entries: readonly string[]): string =>
  [
    'type IsAny<T> = 0 extends 1 & T ? true : false;',
    ...entries.map((entry, n) => `import * as entry${n} from '${entry}';\nexport const typed${n}: IsAny<typeof entry${n}> = false;\nvoid entry${n};`),
    "import { isRerunSafeError, memoryStore, runOnce } from 'rerunsafe';",
    'export async function charge(orderId: string): Promise<number> {',
    "  const options = { store: memoryStore(), operation: 'payments/charge', key: orderId };",
    '  try {',
    '    const receipt = await runOnce(options, async (run) => ({ amount: 5, ref: run.keyFor("charge") }));',
    '    const ref: string = receipt.ref;',
    '    // @ts-expect-error the type of the work comes out of the call',
    '    receipt.nothingOfTheKind;',
    '    return receipt.amount + ref.length;',
    '  } catch (error) {',
    "    if (isRerunSafeError(error, 'IN_FLIGHT')) return error.retryAfterMs || 0;",
    '    throw error;',
    '  }',
    '}',
    '// @ts-expect-error an option that is not known',
    "export const wrong = () => runOnce({ store: memoryStore(), operation: 'a', key: 'k', retentionDays: 1 }, async () => 1);",
  ].join('\n');

/** What `func init --typescript` writes. */
const STOCK_FUNCTIONS_APP = { module: 'commonjs', target: 'es6', outDir: 'dist', rootDir: '.', sourceMap: true, strict: false };
const STRICT = { target: 'es2022', strict: true, exactOptionalPropertyTypes: true, types: ['node'], noEmit: true };

const SETTINGS = [
  { name: 'nodenext-esm', type: 'module', compiler: 'typescript', options: { ...STRICT, module: 'nodenext' } },
  { name: 'nodenext-cjs', type: 'commonjs', compiler: 'typescript', options: { ...STRICT, module: 'nodenext' } },
  { name: 'bundler', type: 'module', compiler: 'typescript', options: { ...STRICT, module: 'esnext', moduleResolution: 'bundler' } },
  { name: 'nodenext-esm-5.9', type: 'module', compiler: 'typescript59', options: { ...STRICT, module: 'nodenext' } },
  { name: 'stock-functions-app-5.9', type: 'commonjs', compiler: 'typescript59', options: STOCK_FUNCTIONS_APP },
];

// A build, a pack and a compiler that reads the SDKs' types: slow on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });

let packed: Packed;
let source: string;

beforeAll(async () => {
  packed = await pack();
  source = CONSUMER(entriesOf(await readManifest(packed.content)));
});
afterAll(() => packed?.cleanUp());

describe('the published types', () => {
  it.each(SETTINGS)('check at a user with $name', async ({ name, type, compiler, options }) => {
    const at = await packed.project(name, {
      'package.json': JSON.stringify({ type }),
      'tsconfig.json': JSON.stringify({ compilerOptions: options, include: ['main.ts'] }),
      'main.ts': source,
    });
    const { stdout } = await runNode(at, join(ROOT, 'node_modules', compiler, 'bin/tsc'), '-p', 'tsconfig.json');
    expect(stdout).toBe('');
  });

  it('are missed where they are missing: the check itself can fail', async () => {
    const at = await packed.project('without-types', {
      'package.json': '{ "type": "commonjs" }',
      'tsconfig.json': JSON.stringify({ compilerOptions: STOCK_FUNCTIONS_APP, include: ['main.ts'] }),
      'main.ts': CONSUMER(['rerunsafe/no-such-entry']),
    });
    const { stdout } = await runNode(at, join(ROOT, 'node_modules/typescript59/bin/tsc'), '-p', 'tsconfig.json');
    expect(stdout).toContain('main.ts(2,');
  });
});
