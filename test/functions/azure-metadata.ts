/**
 * Takes the key of a message through a function of the real library, with metadata as the host encodes it.
 *
 * @module
 */
import { app, type InvocationContext } from '@azure/functions';
import { installFunctionsCore, type RpcData } from '../../scripts/support/functions-host.ts';
import { idempotentEach, type TriggerKey } from '../../src/adapters/azure-functions/index.ts';
import { isRerunSafeError, memoryStore } from '../../src/index.ts';

export const host = installFunctionsCore();
let registered = 0;

type Metadata = Readonly<Record<string, unknown>>;
/** As the host encodes a value: texts as they are, everything else as JSON. */
const rpc = (value: unknown): RpcData => {
  if (typeof value === 'string') return { string: value };
  if (typeof value === 'object' && value !== null && 'rpc' in value) return value.rpc as RpcData;
  return { json: JSON.stringify(value) };
};
export const metadataOf = (metadata: Metadata) => Object.fromEntries(Object.entries(metadata).map(([name, value]) => [name, rpc(value)]));

/** A single message through a function with this trigger; gives the key, or the refusal. */
export async function keyOf(builder: TriggerKey, type: string, metadata: Metadata | undefined, body: RpcData = { string: 'text' }) {
  const name = `keyOf ${++registered}`;
  let key: unknown;
  app.generic(name, {
    trigger: { type, name: 'input' },
    handler: (input: unknown, context: InvocationContext) => {
      try {
        key = builder(input, context);
      } catch (error) {
        key = error;
      }
    },
  });
  await host.invoke(name, body, metadata === undefined ? undefined : metadataOf(metadata));
  return key;
}

/** A batch through `idempotentEach`; gives the key, or the refusal, of each item. */
export async function keysOf(builder: TriggerKey, type: string, metadata: Metadata, bodies: readonly string[]) {
  const name = `keysOf ${++registered}`;
  const seen: unknown[] = [];
  const handler = idempotentEach(
    {
      store: memoryStore(),
      operation: name,
      key: (item, context, index) => {
        try {
          seen[index] = builder(item, context, index);
        } catch (error) {
          seen[index] = error;
        }
        return `${index}`;
      },
    },
    () => {},
  );
  app.generic(name, { trigger: { type, name: 'input', cardinality: 'many' }, handler });
  await host.invoke(name, { collectionString: { string: bodies } }, metadataOf(metadata));
  return seen;
}

export const refused = (key: unknown): string => {
  if (!isRerunSafeError(key, 'MISSING_KEY')) throw new Error(`Expected a refusal, got ${JSON.stringify(key)}`);
  return key.message;
};
/** An array of texts, each of which the worker reads as JSON. */
export const collection = (...texts: readonly string[]) => ({ rpc: { collectionString: { string: texts } } });
/** An array of 64-bit numbers, as the worker's protocol library hands them out. */
export const longs = (...values: readonly bigint[]) => ({
  rpc: { collectionSint64: { sint64: values.map((v) => ({ low: Number(BigInt.asIntN(32, v)), high: Number(v >> 32n), unsigned: false })) } },
});
