import assert from 'node:assert/strict';
import { isRerunSafeError } from '../../core/errors.ts';
import { acquired, ask, assertHeld, freshName, freshOwner, hold, type LeaseCase } from './subject.ts';

/** Names that people choose, and that a service may fold together, cut, or refuse. */
function oddNames(): string[] {
  const stem = freshName();
  const long = `${stem}/${'n'.repeat(300 - stem.length - 2)}`;
  const ends = [
    '',
    'a',
    'A',
    '/a',
    '//a',
    '/a/',
    '\\a',
    '.',
    '..',
    ' ',
    'ä',
    'a\u0308',
    '漢字',
    '😀',
    '%2Fa',
    '%252Fa',
    '#1',
    '?a=b',
    "'",
    '"',
    ':',
    '*',
    '\n',
  ];
  return [...ends.map((end) => `${stem}${end}`), `${long}1`, `${long}2`];
}

/** Who holds a lease, and who does not. */
export const holding: readonly LeaseCase[] = [
  {
    title: 'a free name is acquired, with a token',
    async run(subject) {
      acquired(await ask(subject, freshName()));
    },
  },
  {
    title: 'I6 what is held is not given to another; that is a value, not an error',
    async run(subject) {
      const name = freshName();
      await hold(subject, name);
      await assertHeld(subject, name);
      await assertHeld(subject, name);
    },
  },
  {
    title: 'I7 the same owner asking again gets the same lease and token: a lost answer is mended by asking again',
    async run(subject) {
      const [name, owner] = [freshName(), freshOwner()];
      const first = await hold(subject, name, { owner });
      assert.equal((await hold(subject, name, { owner })).token, first.token);
      assert.equal(await subject.leases.renew(name, { ...first, leaseMs: subject.longMs }), 'renewed');
      await assertHeld(subject, name);
    },
  },
  {
    title: 'released, it is free for the next, with a higher token',
    async run(subject) {
      const name = freshName();
      const first = await hold(subject, name);
      assert.equal(await subject.leases.release(name, first), 'released');
      const second = await hold(subject, name);
      assert.ok(second.token > first.token);
    },
  },
  {
    title: 'I5 tokens only grow, over acquire, refusal and release, twelve times, faster than a clock ticks',
    async run(subject) {
      const name = freshName();
      let last = 0;
      for (let round = 0; round < 12; round += 1) {
        const holder = await hold(subject, name);
        assert.ok(holder.token > last, `token ${holder.token} after ${last}`);
        last = holder.token;
        if (round % 2 === 0) await assertHeld(subject, name);
        assert.equal(await subject.leases.release(name, holder), 'released');
      }
    },
  },
  {
    title: 'names are independent of each other, also those that differ only in a sign, in case, or at the end of 300 letters',
    async run(subject) {
      const names = oddNames();
      const holders = await Promise.all(names.map(async (name) => ({ name, holder: await hold(subject, name) })));
      const giveBack = async ({ name, holder }: (typeof holders)[number]): Promise<void> => {
        assert.equal(await subject.leases.renew(name, { ...holder, leaseMs: subject.longMs }), 'renewed', JSON.stringify(name));
        assert.equal(await subject.leases.release(name, holder), 'released', JSON.stringify(name));
      };
      await Promise.all(holders.map(giveBack));
    },
  },
  {
    title: 'renew by the holder keeps it held',
    async run(subject) {
      const name = freshName();
      const holder = await hold(subject, name);
      for (let round = 0; round < 3; round += 1) {
        assert.equal(await subject.leases.renew(name, { ...holder, leaseMs: subject.longMs }), 'renewed');
        await assertHeld(subject, name);
      }
    },
  },
  {
    title: 'I4 a stale owner neither renews nor releases, and the holder notices nothing',
    async run(subject) {
      const { leases, longMs } = subject;
      const name = freshName();
      const stale = await hold(subject, name);
      await leases.release(name, stale);
      const holder = await hold(subject, name);
      const strangers = [stale, { owner: stale.owner, token: holder.token }, { owner: freshOwner(), token: holder.token }];
      for (const stranger of strangers) {
        assert.equal(await leases.renew(name, { ...stranger, leaseMs: longMs }), 'lost');
        assert.equal(await leases.release(name, stranger), 'lost');
        assert.equal(await leases.release(name, { ...stranger, holdMs: longMs, slotDone: 4_102_444_800_000 }), 'lost');
      }
      await assertHeld(subject, name);
      assert.equal((await leases.read(name))?.lastSlot, undefined);
      assert.equal(await leases.renew(name, { ...holder, leaseMs: longMs }), 'renewed');
      assert.equal(await leases.release(name, holder), 'released');
    },
  },
  {
    title: 'renew and release of a name that never was are lost, and make nothing',
    async run({ leases, longMs }) {
      const name = freshName();
      assert.equal(await leases.renew(name, { owner: freshOwner(), token: 1, leaseMs: longMs }), 'lost');
      assert.equal(await leases.release(name, { owner: freshOwner(), token: 1 }), 'lost');
      assert.equal((await leases.read(name))?.held ?? false, false);
    },
  },
  {
    title: 'releasing twice is harmless, also when somebody else holds it by then',
    async run(subject) {
      const { leases } = subject;
      const name = freshName();
      const first = await hold(subject, name);
      await leases.release(name, first);
      await leases.release(name, first);
      const second = await hold(subject, name);
      assert.equal(await leases.release(name, first), 'lost');
      await assertHeld(subject, name);
      assert.equal(await leases.renew(name, { ...second, leaseMs: subject.longMs }), 'renewed');
    },
  },
  {
    title: 'a released lease cannot be renewed',
    async run(subject) {
      const name = freshName();
      const holder = await hold(subject, name);
      await subject.leases.release(name, holder);
      assert.equal(await subject.leases.renew(name, { ...holder, leaseMs: subject.longMs }), 'lost');
      acquired(await ask(subject, name));
    },
  },
  {
    title: 'read tells who holds it and with which token, and keeps the token after the release',
    async run(subject) {
      const { leases, longMs } = subject;
      const name = freshName();
      assert.equal((await leases.read(name))?.held ?? false, false);
      const holder = await hold(subject, name, { label: 'host-1/ä' });
      const state = await leases.read(name);
      assert.equal(state?.held, true);
      assert.equal(state?.token, holder.token);
      if (state?.owner !== undefined) assert.equal(state.owner, holder.owner);
      if (state?.label !== undefined) assert.equal(state.label, 'host-1/ä');
      if (state?.remainingMs !== undefined) assert.ok(state.remainingMs > 0 && state.remainingMs <= longMs, `remainingMs is ${state.remainingMs}`);
      await leases.release(name, holder);
      const after = await leases.read(name);
      assert.equal(after?.held, false);
      assert.equal(after?.token, holder.token);
    },
  },
  {
    title: 'I4 breaking frees it and fences the old holder',
    async run(subject) {
      const { leases, longMs } = subject;
      const name = freshName();
      const old = await hold(subject, name);
      await leases.break(name);
      const state = await leases.read(name);
      assert.equal(state?.held, false);
      assert.ok((state?.token ?? 0) > old.token, 'breaking has to raise the token');
      assert.equal(await leases.renew(name, { ...old, leaseMs: longMs }), 'lost');
      const next = await hold(subject, name);
      assert.ok(next.token > (state?.token ?? 0));
      assert.equal(await leases.release(name, old), 'lost');
      await assertHeld(subject, name);
    },
  },
  {
    title: 'I5 breaking what is free, or never was, is harmless and lowers no token',
    async run(subject) {
      const { leases } = subject;
      const [name, never] = [freshName(), freshName()];
      await leases.break(never);
      acquired(await ask(subject, never));
      const holder = await hold(subject, name);
      await leases.release(name, holder);
      await leases.break(name);
      assert.ok((await hold(subject, name)).token > holder.token);
    },
  },
  {
    title: 'I12 a signal that has already aborted acquires nothing',
    async run(subject) {
      const { leases, longMs } = subject;
      const name = freshName();
      await assert.rejects(leases.acquire(name, { owner: freshOwner(), leaseMs: longMs }, { signal: AbortSignal.abort() }), (error: unknown) => {
        return isRerunSafeError(error, 'STORE_UNAVAILABLE') || isRerunSafeError(error, 'WRITE_UNKNOWN');
      });
      acquired(await ask(subject, name));
    },
  },
  {
    title: 'limits are stated, and setting up again is harmless',
    async run(subject) {
      const { leases } = subject;
      assert.ok(leases.name.length > 0);
      assert.ok(leases.limits.minLeaseMs >= 0 && leases.limits.maxLeaseMs >= leases.limits.minLeaseMs);
      const name = freshName();
      const holder = await hold(subject, name);
      await leases.setUp?.();
      await assertHeld(subject, name);
      assert.equal(await leases.release(name, holder), 'released');
    },
  },
];
