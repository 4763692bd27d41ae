/**
 * A user with a home, a project in a Git repository, and `rerunsafe` in the PATH.
 *
 * @module
 */
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MAIN } from './write.ts';

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const SHIM = `#!/bin/sh\nexec '${process.execPath}' --disable-warning=ExperimentalWarning '${MAIN}' "$@"\n`;
const WITNESS = 'ran';

export class Stage {
  readonly home = mkdtempSync(join(tmpdir(), 'rerunsafe-page-'));
  readonly project = join(this.home, 'site/wwwroot');
  readonly #bin = join(this.home, 'bin');

  constructor() {
    this.script('bin/rerunsafe', SHIM);
    // Where a package is installed, npx starts its program and nothing else; that it does is tested with the packed tarball.
    this.script('bin/npx', '#!/bin/sh\nexec "$@"\n');
    symlinkSync(process.execPath, join(this.#bin, 'node'));
  }

  /** All that a command finds: as little as cron gives. */
  get env(): Readonly<Record<string, string>> {
    return { HOME: this.home, PATH: `${this.#bin}:/usr/local/bin:/usr/bin:/bin`, RERUNSAFE_HOST_DIR: join(this.home, 'host'), LC_ALL: 'C' };
  }

  /** In the project. */
  sh(line: string, env: Readonly<Record<string, string>> = {}): Promise<Said> {
    return new Promise((resolve) => {
      const child = execFile('/bin/sh', ['-c', line], { cwd: this.project, env: { ...this.env, ...env } }, (_, stdout, stderr) => {
        resolve({ code: child.exitCode ?? 128, stdout, stderr });
      });
    });
  }

  /** A file that can be executed, under the home. */
  script(path: string, text: string): void {
    this.write(path, text);
    chmodSync(join(this.home, path), 0o755);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.home, path)), { recursive: true });
    writeFileSync(join(this.home, path), text);
  }

  /** With one commit. */
  repository(): void {
    const git = (...args: string[]): unknown => execFileSync('git', args, { cwd: this.project, env: this.env });
    git('init', '-q');
    git('-c', 'user.name=a', '-c', 'user.email=a@example.com', 'commit', '-q', '--allow-empty', '-m', 'one');
  }

  /** What a command does that is to be counted: of the shell, and of Node. */
  get leavesWord(): { readonly sh: string; readonly js: string } {
    const file = join(this.home, WITNESS);
    return { sh: `echo ran >> '${file}'`, js: `require('node:fs').appendFileSync(${JSON.stringify(file)}, 'ran\\n')` };
  }

  /** How often. */
  words(): number {
    const file = join(this.home, WITNESS);
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
  }

  clean(): void {
    rmSync(this.home, { recursive: true, force: true });
  }
}
