/**
 * A process that waits for a task on stdin, lives the lives that it is told of, all at once, each as far as its point, and then dies or stops by its own
 * hand. Of one that was told of one life alone, that is the moment of its point.
 *
 * @module
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileHistory } from '../history/log.ts';
import { Gate, latch, nameOf } from './gate.ts';
import { live, rowOf } from './live.ts';
import { LIVES, type Life } from './lives.ts';
import { openPlace, type Place } from './place.ts';
import type { Errand, Said, Task } from './worker-task.ts';

/** What is under way is anywhere on its way then. */
const UNDER_WAY_MS = 3;

/** More than a signal takes to arrive. */
const SIGNAL_MS = 250;

const say = (said: Said | 'ready'): void => void writeSync(1, `${JSON.stringify(said)}\n`);
const lifeOf = ({ life: name }: Errand): Life => {
  const life = LIVES.find((one) => one.name === name);
  if (life === undefined) throw new Error(`there is no life "${name}"`);
  return life;
};

const opened = await openPlace(JSON.parse(process.argv[2] ?? '') as Place);
const lines = createInterface({ input: process.stdin });
// A parent that was killed closes our stdin: nothing stays behind.
lines.once('close', () => process.exit(0));
lines.once('line', (line) => void perform(JSON.parse(line) as Task));
say('ready');

async function perform({ history: path, leaseMs, errands, strike, role = 'victim', waitMs, tries = 1, warm, oneByOne }: Task): Promise<void> {
  if (warm === true) await opened.store.read('nothing');
  const history = fileHistory(path);
  const [send, goOn] = [latch(), latch()];
  let before: Promise<unknown> = Promise.resolve();
  const parts = errands.map((errand) => {
    const gate = new Gate(errand.point, send, goOn);
    const { key, caller } = errand;
    const part = { opened, history, caller, role, key, leaseMs, gate, tries, ...(waitMs === undefined ? {} : { waitMs }) };
    const begins = oneByOne === true ? before : Promise.resolve();
    const ended = begins.then(() => live(lifeOf(errand), part));
    before = ended;
    return { errand, gate, ended };
  });
  await Promise.all(parts.map(({ gate, ended }) => Promise.race([gate.arrived, ended])));
  const halted = parts.filter(({ gate }) => gate.halted);
  if (strike !== 'nothing' && halted.length > 0) {
    say({ halted: halted.map(({ errand }) => errand.key) });
    const isUnderWay = halted.some(({ errand }) => errand.point?.phase === 'during');
    send.open();
    if (isUnderWay) await pause(Math.random() * UNDER_WAY_MS);
    for (const { errand } of halted) {
      const point = errand.point === undefined ? '' : nameOf(errand.point);
      history.note({ what: 'struck', caller: errand.caller, key: rowOf(lifeOf(errand), errand.key), signal: strike, point });
    }
    process.kill(process.pid, strike);
    // A signal to oneself need not have arrived when the call returns. Nothing moves until it has; and after a stop no timer comes first.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, strike === 'SIGKILL' ? 10_000 : SIGNAL_MS);
    goOn.open();
  }
  await Promise.all(parts.map(({ ended }) => ended));
  say({ calls: Object.fromEntries(parts.map(({ errand, gate }) => [errand.key, gate.calls])) });
  history.close();
  await opened.close();
  process.exit(0);
}
