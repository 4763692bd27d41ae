import { AsyncLocalStorage } from 'node:async_hooks';
import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { app, type InvocationContext } from '@azure/functions';
import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { installFunctionsCore } from '../../scripts/support/functions-host.ts';
import { idempotent } from '../../src/adapters/azure-functions/index.ts';
import { memoryStore, runOnce, storeLeases, tryAcquire } from '../../src/index.ts';
import { type EventLogger, type LogEventsOptions, logEvents } from '../../src/telemetry/log/index.ts';
import { LEASE_LINES, RUN_LINES } from '../../src/telemetry/log/lines.ts';
import { bench } from '../unit/core/engine.ts';
import { everything, OPERATION } from './everything.ts';

// Read when it is loaded: then its lines go through `console`.
process.env.POWERTOOLS_DEV = 'true';
const { Logger } = await import('@aws-lambda-powertools/logger');

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
  vi.restoreAllMocks();
});
const log = (...given: Parameters<typeof logEvents>): void => void stops.push(logEvents(...given));

type Line = [level: string, ...line: unknown[]];
/** Keeps what it is told. */
function keeping(levels: readonly string[] = ['debug', 'info', 'warn', 'error']): { logger: EventLogger; lines: Line[] } {
  const lines: Line[] = [];
  const logger = Object.fromEntries(levels.map((level) => [level, (...line: unknown[]) => lines.push([level, ...line])]));
  return { logger: logger as unknown as EventLogger, lines };
}

async function failOnce(operation: string, error: unknown = new Error('no answer from the bank')): Promise<void> {
  await runOnce({ store: memoryStore(), operation, key: 'anna@example.org' }, () => Promise.reject(error)).catch(() => {});
}

describe('what is written', () => {
  it('is a line for each event that core tells, with its level, a sentence and the facts', async () => {
    const { logger, lines } = keeping();
    log(logger, { minLevel: 'debug' });
    const { runs, leases } = await everything();
    expect(lines).toHaveLength(runs.length + leases.length);
    const told = lines.map(([level, message, fields]) => ({ level, message, ...(fields as { rerunsafe: { event: string } }).rerunsafe }));
    for (const { level, message, event, ...facts } of told) {
      const isRun = 'operation' in facts;
      const { sentence, level: usual } = isRun ? RUN_LINES[event as keyof typeof RUN_LINES] : LEASE_LINES[event as keyof typeof LEASE_LINES];
      const isOther = 'notKept' in facts || (event === 'released' && 'reason' in facts);
      if (!isOther || event === 'step-not-kept') expect([level, message]).toEqual([usual, `${isRun ? OPERATION : 'nightly'}: ${sentence}.`]);
      else expect(level).toBe('warn');
    }
  });

  it('leaves out what is less than asked for: by default, what each run says', async () => {
    const counts = async (options?: LogEventsOptions): Promise<string[]> => {
      const { logger, lines } = keeping();
      const stop = logEvents(logger, options);
      await everything();
      stop();
      return [...new Set(lines.map(([level]) => level))].sort();
    };
    expect(await counts()).toEqual(['error', 'info', 'warn']);
    expect(await counts({ minLevel: 'error' })).toEqual(['error']);
  });

  it('never has the key in it', async () => {
    const { logger, lines } = keeping();
    log(logger, { minLevel: 'debug' });
    await failOnce('payments/charge');
    expect(lines.length).toBeGreaterThan(0);
    expect(JSON.stringify(lines)).not.toContain('anna');
  });

  it('goes to the next louder method where the logger has no debug, and stops when it is told to', async () => {
    const { logger, lines } = keeping(['info', 'warn', 'error']);
    const stop = logEvents(logger, { minLevel: 'debug' });
    await failOnce('op');
    stop();
    await failOnce('op');
    expect(lines.map(([level]) => level)).toEqual(['info', 'warn']);
  });

  it('of a value that is not kept, and of a lease that is not released as it should, is a warning', async () => {
    const { logger, lines } = keeping();
    log(logger);
    await runOnce({ store: memoryStore(), operation: 'quotes', key: 'k' }, () => ({ at: () => 1 }));
    const got = await tryAcquire(storeLeases(memoryStore()), 'job', { leaseMs: 100, renew: 'none' });
    await new Promise((resolve) => setTimeout(resolve, 150));
    if (got.kind === 'acquired') await got.lease.release();
    expect(lines.map(([level, message]) => [level, message])).toEqual([
      ['warn', 'quotes: done, and its value could not be kept.'],
      ['error', 'job: lease lost; another may hold it.'],
      ['warn', 'job: lease released, after it was lost.'],
    ]);
  });
});

describe('where it goes', () => {
  it('Azure Functions: each line to the log of its own invocation, as one line of text with JSON', async () => {
    const invocation = new AsyncLocalStorage<InvocationContext>();
    const host = installFunctionsCore();
    const hook = app.hook.preInvocation((before) => {
      const { functionHandler } = before;
      before.functionHandler = (input, context) => invocation.run(context, () => functionHandler(input, context));
    });
    log(() => invocation.getStore());
    app.storageQueue('told', {
      queueName: 'orders',
      connection: 'x',
      handler: idempotent({ store: memoryStore(), operation: 'orders/take', key: (order: { id: string }) => order.id }, async ({ id }) => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        if (id !== 'good') throw Object.assign(new Error(`no ${id}\nleft`), { code: 'E_NONE' });
      }),
    });
    const invoke = (id: string, invocationId: string) => host.invoke('told', { json: JSON.stringify({ id }) }, {}, invocationId);
    // The log of an invocation that throws is with the host; so it is looked at through the context.
    const logs: Record<string, string[]> = {};
    const seen = app.hook.preInvocation(({ invocationContext }) => {
      const { invocationId } = invocationContext;
      const lines: string[] = [];
      vi.spyOn(invocationContext, 'warn').mockImplementation((...line: unknown[]) => {
        lines.push(line.join(' '));
        logs[invocationId] = lines;
      });
    });
    try {
      const [good] = await Promise.allSettled([invoke('good', 'i-1'), invoke('bad', 'i-2'), invoke('worse', 'i-3')]);
      expect(good).toMatchObject({ status: 'fulfilled', value: { logs: [] } });
    } finally {
      hook.dispose();
      seen.dispose();
    }
    expect(Object.keys(logs).sort()).toEqual(['i-2', 'i-3']);
    const [line, ...others] = logs['i-2'] ?? [];
    expect(others).toEqual([]);
    expect(line).not.toContain('\n');
    const [, sentence, json] = /^(.*?\.) (\{.*\})$/.exec(line ?? '') ?? [];
    expect(sentence).toBe('orders/take: the work has failed; it may run again.');
    expect(JSON.parse(json ?? '')).toMatchObject({
      event: 'released',
      operation: 'orders/take',
      attempt: 1,
      code: 'E_NONE',
      error: { name: 'Error', message: 'no bad\nleft' },
    });
  });

  it('Azure Functions: through the real context, at the levels of the host', async () => {
    const host = installFunctionsCore();
    let context: InvocationContext | undefined;
    log(() => context, { minLevel: 'debug' });
    app.generic('levels', {
      trigger: { type: 'manualTrigger', name: 'trigger' } as never,
      handler: async (_input: unknown, given: InvocationContext) => {
        context = given;
        const b = bench();
        await failOnce('fails');
        b.plan.create = () => 'unavailable';
        await b.run(() => 1).catch(() => {});
        context = undefined;
      },
    });
    const { logs } = await host.invoke('levels', { string: 'x' });
    expect(logs.map(({ level }) => level)).toEqual(['debug', 'warning', 'error']);
    expect(logs[2]?.text).toMatch(/^test\/op: no answer from the store .*"code":"STORE_UNAVAILABLE"/);
  });

  it('Powertools: the facts under a name of their own, the error as Powertools shows errors', async () => {
    const lines: Record<string, unknown>[] = [];
    vi.spyOn(console, 'warn').mockImplementation((line) => void lines.push(JSON.parse(String(line)) as Record<string, unknown>));
    log(new Logger({ serviceName: 'payments', logLevel: 'INFO' }));
    await failOnce('payments/charge');
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'WARN',
        service: 'payments',
        message: 'payments/charge: the work has failed; it may run again.',
        rerunsafe: expect.objectContaining({ event: 'released', operation: 'payments/charge', id: expect.stringMatching(/^r1_/), attempt: 1 }),
        error: expect.objectContaining({ name: 'Error', message: 'no answer from the bank' }),
      }),
    ]);
  });

  it('pino: the fields first, the error where pino looks for it', async () => {
    const lines: Record<string, unknown>[] = [];
    const destination = new Writable({
      write(chunk, _, done) {
        lines.push(JSON.parse(String(chunk)) as Record<string, unknown>);
        done();
      },
    });
    log(pino({}, destination));
    await failOnce('payments/charge');
    expect(lines).toEqual([
      expect.objectContaining({
        level: 40,
        msg: 'payments/charge: the work has failed; it may run again.',
        rerunsafe: expect.objectContaining({ event: 'released' }),
        err: expect.objectContaining({ type: 'Error', message: 'no answer from the bank' }),
      }),
    ]);
  });

  it('console, and the log of the older Azure model, which is a function with methods', async () => {
    let text = '';
    const stream = new Writable({
      write(chunk, _, done) {
        text += chunk;
        done();
      },
    });
    log(new Console(stream, stream));
    const { lines, logger } = keeping();
    log(Object.assign(() => {}, logger));
    await failOnce('payments/charge');
    expect(text).toMatch(/^payments\/charge: the work has failed; it may run again\. \{/);
    expect(text).toContain("event: 'released'");
    expect(lines).toEqual([['warn', expect.stringMatching(/^payments\/charge: .*\. \{"event":"released"/)]]);
  });

  it('as it is told, whatever the logger looks like', async () => {
    const { lines, logger } = keeping();
    for (const fields of ['last', 'first', 'json'] as const) log(logger, { fields });
    await failOnce('op', 'not an error');
    expect(lines).toEqual([
      ['warn', expect.any(String), { rerunsafe: expect.any(Object), error: 'not an error' }],
      ['warn', { rerunsafe: expect.any(Object), err: 'not an error' }, expect.any(String)],
      ['warn', expect.stringContaining('"error":"not an error"')],
    ]);
  });
});

describe('a logger', () => {
  it.each<[string, unknown, unknown]>([
    ['that is none', {}, {}],
    ['that is nothing', undefined, {}],
    ['with an option that is not known', console, { level: 'info' }],
    ['with a level that is none', console, { minLevel: 'fatal' }],
  ])('%s is refused', (_, logger, options) => {
    expect(() => logEvents(logger as never, options as never)).toThrow(expect.objectContaining({ code: 'INVALID_OPTIONS' }));
  });

  const failing = (fail: () => unknown) => () => ({ info: fail, warn: fail, error: fail });
  const full = (): never => {
    throw new Error('full');
  };
  it.each<[string, () => unknown]>([
    ['throws', failing(full)],
    ['fails a while later', failing(async () => full())],
    ['cannot be had', full],
    ['turns out to be none', () => ({})],
    ['is not there at the moment', () => undefined],
  ])('I4 that %s changes nothing for the run', async (_, give) => {
    const uncaught: unknown[] = [];
    const listener = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtException', listener);
    process.on('unhandledRejection', listener);
    log(give as () => EventLogger);
    const error = new Error('mine');
    await expect(runOnce({ store: memoryStore(), operation: 'op', key: 'k' }, () => Promise.reject(error))).rejects.toBe(error);
    await new Promise(setImmediate);
    process.off('uncaughtException', listener);
    process.off('unhandledRejection', listener);
    expect(uncaught).toEqual([]);
  });

  it('writes errors that do not let themselves be read, too', async () => {
    const { lines, logger } = keeping();
    log(logger, { fields: 'json' });
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    await failOnce('op', circular);
    await failOnce('op', 10n);
    await failOnce('op', null);
    await failOnce('op', Object.create(null));
    await failOnce(
      'op',
      new Proxy(new Error('x'), {
        get: () => {
          throw new Error('do not look');
        },
      }),
    );
    expect(lines).toHaveLength(5);
  });
});
