/**
 * `rerunsafe/decorators`: the engine for methods of classes, by the standard decorators (TypeScript 5 and later, without `experimentalDecorators`).
 *
 * @module
 */
export { type IdempotentMethodOptions, idempotent } from './idempotent.ts';
export { type SingletonMethodOptions, singleton } from './singleton.ts';
export { type StepMethodOptions, step } from './step.ts';
