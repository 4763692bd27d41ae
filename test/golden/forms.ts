/**
 * Every form that the types of a record have. The lists are complete by their types: a form that is added there, and not here, does not compile; and one
 * that is here needs a golden row.
 *
 * @module
 */
import type { BegunStep, BlockedWhy, FinishedStep, InParts, NotKept, Outcome, PersonsWord, State, StoredRecord } from '../../src/core/record.ts';

type Kind = Outcome['kind'];
type OutcomeForm =
  | Exclude<Kind, 'parts' | 'not-stored'>
  | `parts of ${InParts['of']}`
  | `not-stored: ${NotKept}`
  | `resolved ${Extract<Outcome, { readonly resolved?: true }>['kind']}`;
type StepForm = `step ${FinishedStep['outcome']['kind']}` | 'step begun' | 'step with fingerprint';
type Form =
  | OutcomeForm
  | StepForm
  | `blocked: ${BlockedWhy}`
  | `state ${State}`
  | `word ${PersonsWord['did']}`
  /** But what a later version puts there: laid by later.ts. */
  | `field ${Exclude<keyof StoredRecord, 'beyond'>}`
  | 'error with code'
  | 'error with data';

const FORMS: Readonly<Record<Form, true>> = {
  value: true,
  error: true,
  'error with code': true,
  'error with data': true,
  sealed: true,
  packed: true,
  'parts of value': true,
  'parts of error': true,
  'parts of sealed': true,
  'parts of packed': true,
  'not-stored: too-large': true,
  'not-stored: not-serializable': true,
  'not-stored: not-taken': true,
  'resolved value': true,
  'resolved sealed': true,
  'resolved packed': true,
  'resolved parts': true,
  'step value': true,
  'step sealed': true,
  'step packed': true,
  'step not-stored': true,
  'step begun': true,
  'step with fingerprint': true,
  'blocked: unknown': true,
  'blocked: attempts': true,
  'blocked: failed': true,
  'blocked: step-not-stored': true,
  'state running': true,
  'state completed': true,
  'state released': true,
  'state blocked': true,
  'word resolve': true,
  'word forget': true,
  'field schema': true,
  'field operation': true,
  'field scope': true,
  'field label': true,
  'field state': true,
  'field owner': true,
  'field revision': true,
  'field token': true,
  'field attempt': true,
  'field leaseMs': true,
  'field retentionMs': true,
  'field writtenAtMs': true,
  'field createdAtMs': true,
  'field fingerprint': true,
  'field outcome': true,
  'field steps': true,
  'field blockedWhy': true,
  'field note': true,
  'field word': true,
  'field slot': true,
  'field holder': true,
};

/** All that a store can have. */
export const formsOf = (hasParts: boolean): string[] => Object.keys(FORMS).filter((form) => hasParts || !/\bparts\b/.test(form));

/** The forms that this record has. */
export function formsIn(record: StoredRecord): string[] {
  const { state, outcome, steps = {}, blockedWhy, word } = record;
  return [
    ...Object.keys(record).map((name) => `field ${name}`),
    `state ${state}`,
    ...(outcome === undefined ? [] : outcomeForms(outcome)),
    ...Object.values(steps).flatMap((step) => stepForms(step)),
    ...(blockedWhy === undefined ? [] : [`blocked: ${blockedWhy}`]),
    ...(word === undefined ? [] : [`word ${word.did}`]),
  ];
}

function outcomeForms(outcome: Outcome): string[] {
  const resolved = 'resolved' in outcome ? [`resolved ${outcome.kind}`] : [];
  if (outcome.kind === 'parts') return [...resolved, `parts of ${outcome.of}`];
  if (outcome.kind === 'not-stored') return [`not-stored: ${outcome.reason}`];
  if (outcome.kind !== 'error') return [...resolved, outcome.kind];
  const { code, data } = outcome.error;
  return ['error', ...(code === undefined ? [] : ['error with code']), ...(data === undefined ? [] : ['error with data'])];
}

/** A third form of a step would not compile. */
function stepForms(step: FinishedStep | BegunStep): string[] {
  const fingerprint = step.fingerprint === undefined ? [] : ['step with fingerprint'];
  return [...fingerprint, 'outcome' in step ? `step ${step.outcome.kind}` : step.begun > 0 ? 'step begun' : ''];
}
