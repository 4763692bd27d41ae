import { describe, expect, it } from 'vitest';
import { memoryStore, PermanentError, runOnce } from '../../../src/index.ts';
import { headerOf, operation, problemOf, reply, textOf } from './exchange.ts';

describe('a second look before a replay', () => {
  it('I3 refuses with 403 and changes nothing else', async () => {
    const looks: [string | undefined, number][] = [];
    const allowed = new Set(['anna']);
    const charge = operation(
      {
        authorizeReplay: (request, { status }) => {
          looks.push([request.header('x-user'), status]);
          return allowed.has(request.header('x-user') ?? '');
        },
      },
      () => reply(201, 'secret', [['location', '/charges/1']]),
    );
    const as = (user: string) => charge.send({ headers: { 'x-user': user } });
    expect((await as('ben')).status, 'a first answer is the handler’s own affair').toBe(201);
    const refused = await as('ben');
    expect([refused.status, problemOf(refused).type, headerOf(refused, 'retry-after')]).toEqual([
      403,
      'urn:rerunsafe:problem:replay-refused',
      undefined,
    ]);
    expect(JSON.stringify([refused.headers, textOf(refused)])).not.toMatch(/secret|charges/);
    const seen = await as('anna');
    expect([seen.status, textOf(seen), headerOf(seen, 'idempotent-replayed')]).toEqual([201, 'secret', 'true']);
    expect([charge.calls, looks]).toEqual([
      1,
      [
        ['ben', 201],
        ['anna', 201],
      ],
    ]);
  });

  it.each([[undefined], [null], [1], ['yes'], [{}]])('takes %j for no', async (answer) => {
    const charge = operation({ authorizeReplay: () => answer as never }, () => reply(200));
    await charge.send();
    expect((await charge.send()).status).toBe(403);
  });

  it('I9 comes after "another request" and is not asked for a request that is refused or runs', async () => {
    let looks = 0;
    const charge = operation({ authorizeReplay: () => ++looks > 0 }, (n) => reply(n === 1 ? 503 : 200));
    await charge.send();
    await charge.send();
    expect((await charge.send({ body: 'other' })).status).toBe(422);
    expect(looks).toBe(0);
  });

  it('I2 is asked for a remembered error too', async () => {
    const seen: number[] = [];
    const charge = operation({ authorizeReplay: (_, { status }) => seen.push(status) > 1 }, () => {
      throw new PermanentError('declined');
    });
    await expect(charge.send()).rejects.toThrow('declined');
    expect((await charge.send()).status).toBe(403);
    await expect(charge.send()).rejects.toThrow('declined');
    expect([seen, charge.calls]).toEqual([[500, 500], 1]);
  });

  it('shows nothing when it fails, and what it throws is no refusal of ours', async () => {
    const store = memoryStore();
    await runOnce({ store, operation: 'rights', key: 'k', input: 1 }, () => true);
    const charge = operation({ authorizeReplay: () => runOnce({ store, operation: 'rights', key: 'k', input: 2 }, () => true) }, () => reply(200));
    await charge.send();
    await expect(charge.send()).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });
});

describe('what onUnknown found out', () => {
  it('I3 is an earlier reply, and is looked at before it is shown', async () => {
    const store = memoryStore();
    const failing = operation({ store, onUnknown: 'block' }, () => {
      throw new Error('time-out');
    });
    await failing.send().catch(() => {});
    let asked = 0;
    const found = operation({ store, onUnknown: () => ({ done: reply(200, 'secret') }), authorizeReplay: () => ++asked > 1 }, () => reply(201));
    const first = await found.send();
    expect([first.status, textOf(first).includes('secret')]).toEqual([403, false]);
    expect(textOf(await found.send())).toBe('secret');
    expect([asked, found.calls]).toEqual([2, 0]);
  });
});
