/**
 * Attributes without those that there is nothing to say of.
 *
 * @module
 */
import type { Attributes } from '@opentelemetry/api';

export const definedOf = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
