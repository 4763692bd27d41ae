import assert from 'node:assert/strict';
import { acquired, ask, assertHeld, freshName, freshOwner, hold, type LeaseCase, type LeaseCaseSubject, untilAcquired } from './subject.ts';

const SLOT = 1_767_225_600_000;
const HOUR_MS = 3_600_000;

async function finish(subject: LeaseCaseSubject, name: string, slot: number): Promise<void> {
  const holder = await hold(subject, name, { slot });
  assert.equal(await subject.leases.release(name, { ...holder, slotDone: slot }), 'released');
}

/** Scheduled moments, and the minimum hold. */
export const slots: readonly LeaseCase[] = [
  {
    title: 'a slot that is done is not given again',
    async run(subject) {
      const name = freshName();
      await finish(subject, name, SLOT);
      assert.deepEqual(await ask(subject, name, { slot: SLOT }), { kind: 'slot-done' });
      assert.equal((await subject.leases.read(name))?.lastSlot, SLOT);
    },
  },
  {
    title: 'a slot before the last one done has passed, and says which was the last',
    async run(subject) {
      const name = freshName();
      await finish(subject, name, SLOT);
      assert.deepEqual(await ask(subject, name, { slot: SLOT - HOUR_MS }), { kind: 'slot-passed', lastSlot: SLOT });
    },
  },
  {
    title: 'a refused slot holds nothing: the next slot is acquired at once',
    async run(subject) {
      const name = freshName();
      await finish(subject, name, SLOT);
      await ask(subject, name, { slot: SLOT });
      await ask(subject, name, { slot: SLOT - 1 });
      assert.equal((await subject.leases.read(name))?.held, false);
      await finish(subject, name, SLOT + HOUR_MS);
      assert.equal((await subject.leases.read(name))?.lastSlot, SLOT + HOUR_MS);
    },
  },
  {
    title: 'whoever acquires is told the last slot that is done, for alerts on jobs that no longer succeed',
    async run(subject) {
      const [name, owner] = [freshName(), freshOwner()];
      const ofFirst = await ask(subject, name, { owner, slot: SLOT });
      const token = acquired(ofFirst);
      assert.equal('lastSlot' in ofFirst, false);
      await subject.leases.release(name, { owner, token, slotDone: SLOT });
      const ofNext = await ask(subject, name, { slot: SLOT + HOUR_MS });
      acquired(ofNext);
      assert.equal('lastSlot' in ofNext && ofNext.lastSlot, SLOT);
    },
  },
  {
    title: 'a failed slot stays open',
    async run(subject) {
      const name = freshName();
      const failed = await hold(subject, name, { slot: SLOT });
      assert.equal(await subject.leases.release(name, failed), 'released');
      const again = await hold(subject, name, { slot: SLOT });
      assert.ok(again.token > failed.token);
    },
  },
  {
    title: 'slots are marked for their own name only, and do not hinder a run without a slot',
    async run(subject) {
      const [name, other] = [freshName(), freshName()];
      await finish(subject, name, SLOT);
      acquired(await ask(subject, other, { slot: SLOT }));
      acquired(await ask(subject, name));
    },
  },
  {
    title: 'the mark never goes back',
    async run(subject) {
      const name = freshName();
      await finish(subject, name, SLOT);
      const holder = await hold(subject, name);
      await subject.leases.release(name, { ...holder, slotDone: SLOT - HOUR_MS });
      assert.deepEqual(await ask(subject, name, { slot: SLOT }), { kind: 'slot-done' });
    },
  },
  {
    title: 'slot 0 is a slot',
    async run(subject) {
      const name = freshName();
      await finish(subject, name, 0);
      assert.deepEqual(await ask(subject, name, { slot: 0 }), { kind: 'slot-done' });
      acquired(await ask(subject, name, { slot: 1 }));
    },
  },
  {
    title: 'I7 the same owner asking again for its slot gets the same lease and token',
    async run(subject) {
      const name = freshName();
      const first = await hold(subject, name, { slot: SLOT });
      assert.equal((await hold(subject, name, { slot: SLOT, owner: first.owner })).token, first.token);
    },
  },
  {
    title: 'the minimum hold outlives the release, and ends',
    async run(subject) {
      const name = freshName();
      const holdMs = subject.leaseMs;
      const first = await hold(subject, name, { leaseMs: subject.leaseMs });
      assert.equal(await subject.leases.release(name, { ...first, slotDone: SLOT, holdMs }), 'released');
      await assertHeld(subject, name);
      const next = await untilAcquired(subject, name, holdMs);
      assert.ok(next.token > first.token);
      assert.equal((await subject.leases.read(name))?.lastSlot, SLOT);
    },
  },
  {
    title: 'the minimum hold is kept after renewals too',
    async run(subject) {
      const { leases, leaseMs, longMs } = subject;
      const name = freshName();
      const holder = await hold(subject, name, { leaseMs });
      for (let round = 0; round < 3; round += 1) assert.equal(await leases.renew(name, { ...holder, leaseMs }), 'renewed');
      assert.equal(await leases.release(name, { ...holder, holdMs: longMs }), 'released');
      await assertHeld(subject, name);
      // What is told of it agrees with what an acquisition meets; whose it was is over.
      const told = await leases.read(name);
      assert.equal(told?.held, true);
      assert.equal(told?.owner, undefined);
    },
  },
];
