import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { checkHost } from '../../src/adapters/azure-functions/index.ts';

const queues = (settings: object) => ({ version: '2.0', extensions: { queues: settings } });
const serviceBus = (settings: object) => ({ extensions: { queues: { visibilityTimeout: '00:00:30' }, serviceBus: settings } });
const settingsOf = (hostJson: unknown, options?: { leaseMs: number }) => checkHost(hostJson, options).map(({ setting }) => setting);

const VISIBILITY = 'extensions.queues.visibilityTimeout';

describe('checkHost', () => {
  it('finds nothing in the host.json of the sample app', () => {
    expect(checkHost(JSON.parse(readFileSync(new URL('../../host.json', import.meta.url), 'utf8')))).toEqual([]);
  });

  it('says what a throw does where the visibility timeout is not set, and what to set', () => {
    for (const hostJson of [{}, { version: '2.0' }, queues({}), queues({ visibilityTimeout: null }), queues({ visibilityTimeout: '00:00:00' })]) {
      const [found, ...more] = checkHost(hostJson);
      expect(more).toEqual([]);
      expect(found?.setting).toBe(VISIBILITY);
      expect(found?.problem).toMatch(/at once.*5 deliveries.*poison queue.*Set "00:00:15" or more/);
    }
  });

  it('holds all deliveries together against a minute, and against the lease', () => {
    expect(settingsOf(queues({ visibilityTimeout: '00:00:14' }))).toEqual([VISIBILITY]);
    expect(settingsOf(queues({ visibilityTimeout: '00:00:15' }))).toEqual([]);
    expect(settingsOf(queues({ visibilityTimeout: '00:00:15', maxDequeueCount: 2 }))).toEqual([VISIBILITY]);
    expect(settingsOf(queues({ visibilityTimeout: '00:00:15' }), { leaseMs: 120_000 })).toEqual([VISIBILITY]);
    expect(settingsOf(queues({ visibilityTimeout: '00:00:15.5', maxDequeueCount: 5 }))).toEqual([]);
    expect(settingsOf(queues({ visibilityTimeout: '1.00:00:00' }))).toEqual([]);
    expect(settingsOf(queues({ visibilityTimeout: '00:01' }))).toEqual([]);
  });

  it('reads names in any case, as the host does', () => {
    expect(settingsOf({ Extensions: { Queues: { VisibilityTimeout: '00:01:00' } } })).toEqual([]);
  });

  it('refuses what it cannot read', () => {
    for (const visibilityTimeout of ['30', 30, '00:00:75', '25:00:00', {}, true])
      expect(settingsOf(queues({ visibilityTimeout }))).toEqual([VISIBILITY]);
    for (const maxDequeueCount of [0, 1, 1.5, '5']) {
      expect(settingsOf(queues({ visibilityTimeout: '00:00:30', maxDequeueCount }))).toEqual(['extensions.queues.maxDequeueCount']);
    }
    for (const hostJson of [null, undefined, [], 'x']) expect(settingsOf(hostJson)).toEqual(['(file)']);
  });

  it('finds settings where version 1 had them', () => {
    expect(settingsOf({ queues: { visibilityTimeout: '00:00:30' } })).toEqual(['queues', VISIBILITY]);
  });

  it('finds what leaves Service Bus messages unsettled or without their lock', () => {
    expect(settingsOf(serviceBus({}))).toEqual([]);
    expect(settingsOf(serviceBus({ autoCompleteMessages: false }))).toEqual(['extensions.serviceBus.autoCompleteMessages']);
    expect(settingsOf(serviceBus({ maxAutoLockRenewalDuration: '00:00:10' }))).toEqual(['extensions.serviceBus.maxAutoLockRenewalDuration']);
    expect(settingsOf(serviceBus({ maxAutoLockRenewalDuration: '00:00:10' }), { leaseMs: 5_000 })).toEqual([]);
    expect(settingsOf(serviceBus({ maxAutoLockRenewalDuration: '00:05:00' }))).toEqual([]);
    expect(settingsOf(serviceBus({ maxAutoLockRenewalDuration: 5 }))).toEqual(['extensions.serviceBus.maxAutoLockRenewalDuration']);
  });
});
