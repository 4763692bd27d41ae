/**
 * An attribute as the value it stands for, as the SDK's own `unmarshall` (a package that need not be installed) gives it.
 *
 * @module
 */
import type { AttributeValue } from '@aws-sdk/client-dynamodb';

/** @throws TypeError for a number that is neither exact as a number nor a whole one, and for a type that is not known. */
export function nativeValue(attribute: AttributeValue): unknown {
  if (attribute.S !== undefined) return attribute.S;
  if (attribute.N !== undefined) return numberOf(attribute.N);
  if (attribute.BOOL !== undefined) return attribute.BOOL;
  if (attribute.NULL !== undefined) return null;
  if (attribute.B !== undefined) return attribute.B;
  if (attribute.L !== undefined) return attribute.L.map(nativeValue);
  if (attribute.M !== undefined) return objectOf(attribute.M);
  if (attribute.SS !== undefined) return new Set(attribute.SS);
  if (attribute.NS !== undefined) return new Set(attribute.NS.map(numberOf));
  if (attribute.BS !== undefined) return new Set(attribute.BS);
  throw new TypeError(`An attribute of DynamoDB has a type that is not known: ${Object.keys(attribute).join(', ')}.`);
}

function objectOf(map: Record<string, AttributeValue>): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  // Assigned, as theirs is, so that an object is the same one here and there.
  for (const [name, attribute] of Object.entries(map)) object[name] = nativeValue(attribute);
  return object;
}

function numberOf(digits: string): number | bigint {
  const number = Number(digits);
  if (Math.abs(number) <= Number.MAX_SAFE_INTEGER) return number;
  try {
    return BigInt(digits);
  } catch (cause) {
    throw new TypeError(`${digits} cannot be read without a loss.`, { cause });
  }
}
