/**
 * Carries out a plan: a guard that is killed, what is known of it then, and the call after it.
 *
 * @module
 */
import { existsSync, mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { sendSignal } from '../../../../scripts/send-signal.ts';
import { DEFAULT_OPERATION } from '../../../../src/cli/operation.ts';
import { recordId } from '../../../../src/core/key.ts';
import { allProcesses, processesWith, until } from '../../child/processes.ts';
import type { Moment as Staged } from '../moments.ts';
import type { Place } from '../places.ts';
import { behaving, COMMAND, seenIn } from '../witness.ts';
import { type Ended, letGo, reached, tryKill, type Wrapper, type Wrappers } from '../wrappers.ts';
import type { Asked, Observed } from './judge.ts';
import type { Plan, State } from './plan.ts';

/** Between a guard and its store. */
export interface Between {
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  /** Resolves when the store has answered the request, and the answer was kept back. */
  stalled(moment: 'claim sent' | 'outcome sent', id: string): Promise<unknown>;
}

export interface Stage {
  readonly place: Place;
  readonly wrappers: Wrappers;
  readonly between?: Between;
}

const LEASE_MS = 2_500;
/** Two thirds are left when a renewal is due. */
const SURE_MS = 1_500;
const SLOT = ['--slot', '1h', '--at', '2026-03-01T10:20:00Z'];

let count = 0;

export async function carryOut({ place, wrappers, between }: Stage, plan: Plan): Promise<Observed> {
  const { mode, who, moment, onUnknown, code, isMissing } = plan;
  const name = `kill-${++count}`;
  const folder = wrappers.path(name);
  mkdirSync(folder);
  const [witness, holds, mayVerify] = [`${folder}/witness`, `${folder}/holds`, `${folder}/verified`];
  const isSent = moment === 'claim sent' || moment === 'outcome sent';
  const options = [
    ...['run', '--json', '--key', name, '--mode', mode, '--lease', `${LEASE_MS}ms`, '--kill-after', '300ms'],
    ...(mode === 'once' ? ['--on-unknown', onUnknown] : []),
    ...(mode === 'slot' ? SLOT : []),
    // The first finds it missing; the next finds it there.
    ...(isMissing ? ['--creates', `${folder}/created`] : []),
    ...(moment === 'verifying' ? ['--verify', `touch ${folder}/verifying; while [ ! -e ${mayVerify} ]; do sleep 0.02; done`] : []),
  ];
  const staged = STAGED[moment];
  const isHeldAtGate = moment === 'gate' && who !== 'wrapper';
  const stalled = isSent ? between?.stalled(moment, recordId(DEFAULT_OPERATION, [], [name])) : undefined;
  const first = wrappers.start([...options, '--store', isSent ? (between?.url ?? '') : place.url, '--', ...COMMAND], {
    env: { ...behaving({ witness, ...(moment === 'running' ? { holds, ticks: true } : {}), code }), ...(isSent ? between?.env : {}) },
    ...(staged === undefined || who === 'nobody' ? {} : { staged: { folder, at: staged, does: isHeldAtGate ? 'wait' : 'die' } }),
  });

  const group = await killed(plan, first, { witness, folder, stalled });
  const killedAtMs = performance.now();
  const isOverMs = killedAtMs + LEASE_MS + place.uncertaintyMs;
  if (who === 'watcher') wrappers.touch(holds);
  const end = await first.ended;

  const isFreed = mode !== 'once';
  const ask = async (): Promise<Asked> =>
    asked(await wrappers.ask('status', ...(isFreed ? ['--lock', name] : [name]), '--json', '--store', place.url));
  const now = { ...(await ask()), inTime: performance.now() < killedAtMs + SURE_MS };
  const survivors = (): number => (group === undefined ? 0 : allProcesses().filter((each) => each.group === group).length);
  let later: Asked | undefined;
  const startsAtOnce = onUnknown === 'retry' || isFreed;
  if (!startsAtOnce) {
    if (now.state === 'running') await pause(Math.max(0, isOverMs + 100 - performance.now()));
    later = await ask();
  }
  for (const file of [`${folder}/created`, mayVerify]) wrappers.touch(file);
  const second = await wrappers.start([...options, ...(startsAtOnce ? ['--wait', '20s'] : []), '--store', place.url, '--', ...COMMAND], {
    env: behaving({ witness }),
  }).ended;
  const next = { code: second.code, ran: second.report?.became === 'succeeded' };
  const last = await ask();
  const leftRunning = await until(() => survivors() === 0, 'the command has ended', 2_000).then(() => 0, survivors);
  wrappers.touch(holds);
  return { first: end.code ?? undefined, now, later, next, last, leftRunning, seen: seenIn(witness) };
}

const STAGED: Partial<Record<Plan['moment'], Staged>> = {
  claim: 'claim',
  claimed: 'claimed',
  watcher: 'watcher',
  gate: 'gate',
  ended: 'ended',
  written: 'written',
};

interface Where {
  readonly witness: string;
  readonly folder: string;
  readonly stalled: Promise<unknown> | undefined;
}

/** The group of the command, where it has one. */
async function killed({ who, moment }: Plan, first: Wrapper, { witness, folder, stalled }: Where): Promise<number | undefined> {
  const command = async (): Promise<number> => (await until(() => seenIn(witness)[0], 'the command has begun', 20_000)).pid;
  if (who === 'nobody') return void (await first.ended);
  switch (moment) {
    case 'claim sent':
    case 'outcome sent':
      await stalled;
      first.kill('SIGKILL');
      return seenIn(witness)[0]?.pid;
    case 'gate': {
      const [gate = 0] = await reached(folder);
      if (who === 'wrapper') return gate;
      tryKill(gate);
      if (who === 'both') first.kill('SIGKILL');
      else letGo(folder);
      return gate;
    }
    case 'running': {
      const pid = await command();
      await killRunning(who, pid, first);
      return pid;
    }
    case 'verifying':
      await until(() => existsSync(`${folder}/verifying`), 'it is verified', 20_000);
      first.kill('SIGKILL');
      return command();
    default:
      await first.ended;
      return seenIn(witness)[0]?.pid;
  }
}

async function killRunning(who: Plan['who'], pid: number, first: Wrapper): Promise<void> {
  const watchers = processesWith('cmdline', 'rerunsafe-watcher').filter(({ parent }) => parent === first.pid);
  if (who === 'watcher' || who === 'watcher, then wrapper') for (const watcher of watchers) tryKill(watcher.pid);
  // So that it does not see its command die.
  if (who === 'both') first.kill('SIGSTOP');
  if (who === 'both' || who === 'command') sendSignal(-pid, 'SIGKILL');
  if (who !== 'command' && who !== 'watcher') first.kill('SIGKILL');
}

function asked({ code, stdout, stderr }: Ended): Asked {
  try {
    const { kind, state } = JSON.parse(stdout) as { kind: string; state: string };
    return { code, state: (kind === 'lease' ? LEASE_STATES[state] : state) as State };
  } catch {
    throw new Error(`status said ${stdout}${stderr}`);
  }
}

const LEASE_STATES: Readonly<Record<string, State>> = { held: 'running', free: 'lapsed', none: 'none' };
