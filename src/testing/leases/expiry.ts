import assert from 'node:assert/strict';
import { atOnce } from '../suite.ts';
import { ask, assertHeld, freshName, freshOwner, held, hold, type LeaseCase, pass, SLACK_MS, untilAcquired } from './subject.ts';

/** Leases that run out. Where the clock cannot be moved these cases wait for real. */
export const expiry: readonly LeaseCase[] = [
  {
    title: 'I10 a lease whose holder died is free when it has run out, and not before',
    async run(subject) {
      const name = freshName();
      const dead = await hold(subject, name, { leaseMs: subject.leaseMs });
      await pass(subject, subject.leaseMs / 2);
      await assertHeld(subject, name);
      const next = await untilAcquired(subject, name, subject.leaseMs);
      assert.ok(next.token > dead.token);
    },
  },
  {
    title: 'I4 after a takeover the old owner neither renews nor releases',
    async run(subject) {
      const { leases, leaseMs, longMs } = subject;
      const name = freshName();
      const old = await hold(subject, name, { leaseMs });
      const next = await untilAcquired(subject, name, leaseMs);
      assert.equal(await leases.renew(name, { ...old, leaseMs }), 'lost');
      assert.equal(await leases.release(name, old), 'lost');
      await assertHeld(subject, name);
      assert.equal(await leases.renew(name, { owner: next.owner, token: next.token, leaseMs: longMs }), 'renewed');
    },
  },
  {
    title: 'I6 renewing counts from the renewal: it is held beyond the first lease',
    async run(subject) {
      const { leases, leaseMs } = subject;
      const name = freshName();
      const holder = await hold(subject, name, { leaseMs });
      for (let round = 0; round < 3; round += 1) {
        await pass(subject, leaseMs / 2);
        assert.equal(await leases.renew(name, { ...holder, leaseMs }), 'renewed');
      }
      await assertHeld(subject, name);
    },
  },
  {
    title: 'I4 renewing a lease that has run out is lost, even when nobody has taken it yet',
    async run(subject) {
      const { leases, leaseMs } = subject;
      const name = freshName();
      const late = await hold(subject, name, { leaseMs });
      await pass(subject, leaseMs + 3000);
      assert.equal(await leases.renew(name, { ...late, leaseMs }), 'lost');
      assert.notEqual((await leases.read(name))?.held, true);
    },
  },
  {
    title: 'I4 a renewal does not pass over a gap: after a lease ran out, was taken and was released by another, it is lost',
    async run(subject) {
      const { leases, leaseMs } = subject;
      const name = freshName();
      const old = await hold(subject, name, { leaseMs });
      const other = await untilAcquired(subject, name, leaseMs);
      assert.equal(await leases.release(name, other), 'released');
      assert.equal(await leases.renew(name, { ...old, leaseMs }), 'lost');
      assert.equal((await leases.read(name))?.held, false);
      const next = await hold(subject, name);
      assert.ok(next.token > other.token);
    },
  },
  {
    title: 'I6 how long a lease runs is what its holder asked for, not what the next one asks for',
    async run(subject) {
      const { leaseMs, longMs } = subject;
      const name = freshName();
      await hold(subject, name, { leaseMs: longMs });
      await pass(subject, leaseMs + 3000);
      held(await ask(subject, name, { leaseMs }), longMs + SLACK_MS);
    },
  },
  {
    title: 'I6 of eight callers at once for a lease that is running out, one gets it',
    async run(subject) {
      const { leases, leaseMs } = subject;
      const name = freshName();
      const dead = await hold(subject, name, { leaseMs });
      await pass(subject, leaseMs);
      const owners = Array.from({ length: 8 }, () => freshOwner());
      for (let waitedMs = 0; waitedMs <= SLACK_MS; waitedMs += 100) {
        const answers = await atOnce(owners.length, (n) => ask(subject, name, { owner: owners[n] as string }));
        const tokens = answers.flatMap((answer) => (answer.kind === 'acquired' ? [answer.token] : []));
        if (tokens.length > 0) {
          assert.equal(tokens.length, 1, `${tokens.length} of ${owners.length} acquired it`);
          assert.ok((tokens[0] as number) > dead.token);
          return assert.equal(await leases.release(name, dead), 'lost');
        }
        await pass(subject, 100);
      }
      assert.fail(`not acquired within ${leaseMs + SLACK_MS} ms`);
    },
  },
  {
    title: 'a lease that ran out leaves its slot open',
    async run(subject) {
      const name = freshName();
      const slot = 1_767_225_600_000;
      await hold(subject, name, { leaseMs: subject.leaseMs, slot });
      const next = await untilAcquired(subject, name, subject.leaseMs);
      assert.equal(await subject.leases.release(name, next), 'released');
      await hold(subject, name, { slot });
    },
  },
];
