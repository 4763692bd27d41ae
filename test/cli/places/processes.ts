/**
 * Processes that use a store by its URL, as this or another user, with or without a package.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export interface Told {
  readonly exitCode?: number;
  readonly lines?: readonly string[];
  readonly kind?: string;
  readonly code?: string;
  readonly message?: string;
  /** Of an error: all of it, its causes too. */
  readonly everything?: string;
}

export type Task = 'doctor' | 'set-up' | 'look' | 'acquire';

export interface Circumstances {
  readonly env?: NodeJS.ProcessEnv;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** Packages that are not installed for it. */
  readonly without?: readonly string[];
}

const WORKER = fileURLToPath(new URL('./worker.ts', import.meta.url));
const LIMIT_MS = 60_000;

export async function told(task: Task, url: string, { env = {}, user, without = [] }: Circumstances = {}): Promise<Told> {
  const hook = `import { registerHooks } from 'node:module';
    const gone = ${JSON.stringify(without)};
    registerHooks({ resolve(name, context, next) {
      if (gone.includes(name)) throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
      return next(name, context);
    } });`;
  const flags = without.length === 0 ? [] : ['--import', `data:text/javascript,${encodeURIComponent(hook)}`];
  const { HOME, PATH } = process.env;
  const another = user === undefined ? {} : { TEST_USER: `${user.uid}:${user.gid}` };
  const options = { env: { HOME, PATH, NODE_NO_WARNINGS: '1', ...another, ...env }, timeout: LIMIT_MS, cwd: '/' };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [...flags, WORKER, task, url], options, (error, stdout, stderr) => {
      if (error !== null || stdout === '') reject(new Error(`the process printed no answer: ${stderr}`, { cause: error }));
      else resolve(JSON.parse(stdout) as Told);
    });
  });
}
