import { afterAll, describe, expect, it } from 'vitest';
import { blocksOf, found, prose } from './recipes.ts';
import { type Said, Stage } from './stage.ts';

const SHA = 'f'.repeat(40);
const GITHUB = { GITHUB_REPOSITORY: 'ann/shop', GITHUB_WORKFLOW: 'deploy', GITHUB_SHA: SHA };
const QUIET = { npm_config_update_notifier: 'false', npm_config_loglevel: 'error', npm_config_offline: 'true' };
const HOST = { RERUNSAFE_STORE: 'sqlite:host' };
const minutes = (iso: string): number => Date.parse(iso) / 60_000;

interface Recipe {
  readonly name: string;
  readonly line: () => string;
  readonly env?: Readonly<Record<string, string>>;
}

const K8S = found('Kubernetes CronJob', 'yaml', /^ +- (exec rerunsafe .*)$/);
const RECIPES: readonly Recipe[] = [
  { name: 'a deployment pipeline', line: () => blocksOf('A migration in a deployment pipeline', 'sh').join('') },
  { name: 'GitHub Actions', line: () => found('GitHub Actions', 'yaml', /^ +- run: (npx .*)$/), env: GITHUB },
  { name: 'systemd', line: () => found('systemd', 'ini', /^ExecStart=(.*)$/), env: HOST },
  { name: 'an npm script', line: () => 'npm run --silent migrate' },
  { name: 'a WebJob', line: () => blocksOf('Azure WebJobs', 'sh').join('').replace('--store azure-tables: ', '') },
];

describe.concurrent('the recipes of the page', () => {
  const stages: Stage[] = [];
  afterAll(() => {
    for (const stage of stages) stage.clean();
  });

  /** The places that a recipe names are in the user's home. */
  function staged(): { stage: Stage; call: (line: string, env?: Readonly<Record<string, string>>) => Promise<Said> } {
    const stage = new Stage();
    stages.push(stage);
    const { sh, js } = stage.leavesWord;
    const { scripts } = JSON.parse(blocksOf('npm scripts', 'json').join('')) as { scripts: Record<string, string> };
    stage.write('site/wwwroot/package.json', JSON.stringify({ scripts: { ...scripts } }));
    stage.write('site/wwwroot/migrations/1.sql', '');
    for (const name of ['migrate', 'report']) stage.write(`site/wwwroot/${name}.js`, js);
    for (const name of ['backup', 'report']) stage.script(`opt/${name}/run.sh`, `#!/bin/sh\n${sh}\n`);
    stage.repository();
    const here = (line: string): string => line.replaceAll('/usr/local/bin/rerunsafe', 'rerunsafe').replaceAll('/opt/', `${stage.home}/opt/`);
    return { stage, call: (line, env = {}) => stage.sh(here(line), { ...QUIET, ...env }) };
  }

  it.each(RECIPES)('I1 $name: the first call runs, the second does not', async ({ name, line, env = {} }) => {
    const { stage, call } = staged();
    // A guard within the guard is for the npm script alone: elsewhere the script is what is guarded.
    if (!name.includes('npm')) stage.write('site/wwwroot/package.json', JSON.stringify({ scripts: { migrate: stage.leavesWord.sh } }));
    if (env === HOST) expect((await call('rerunsafe set-up', env)).code).toBe(0);
    const ends = [await call(line(), env), await call(line(), env)];
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
    expect(ends[1]?.stderr).toMatch(/already done|the slot .* is done/);
    expect(stage.words()).toBe(1);
  });

  it('I1 the first example prints hello once, and says so', async () => {
    const { call } = staged();
    const [block = ''] = blocksOf('`rerunsafe` on the command line', 'sh');
    const [says = ''] = blocksOf('`rerunsafe` on the command line', 'text');
    const [first = '', second = '', ...more] = block.trim().split('\n');
    expect([second, more]).toEqual([first, []]);
    expect(await call(first)).toEqual({ code: 0, stdout: 'hello\n', stderr: '' });
    const again = await call(second);
    expect(again).toMatchObject({ code: 0, stdout: '' });
    const plain = (text: string): string => text.replace(/\([^)]*, by [^)]*\)/, '(TIME, by WHO)');
    expect(plain(says)).toContain('TIME');
    expect(plain(again.stderr)).toBe(plain(says));
  });

  it('I1 of a CronJob a tick is run once, an earlier one that comes late is not, and a job that is started by hand has a tick, too', async () => {
    const { stage, call } = staged();
    const tick = (iso: string): Promise<Said> => call(K8S, { JOB: `report-${minutes(iso)}` });
    expect((await tick('2026-03-02T02:00:00Z')).code).toBe(0);
    expect(await tick('2026-03-02T02:00:00Z')).toMatchObject({ code: 0, stderr: expect.stringContaining('is done; not run again') });
    expect((await tick('2026-03-01T02:00:00Z')).code).toBe(76);
    const name = /"(report-\$\(\(\$\(date \+%s\) \/ 60\)\))"/.exec(prose)?.[1];
    expect((await call(`JOB="${name}"; ${K8S}`)).code).toBe(0);
    expect(stage.words()).toBe(2);
  });

  it('I6 the lines for cron: while somebody holds the lock nothing is run, and that is no error', async () => {
    const { stage, call } = staged();
    const line = found('cron', 'crontab', /^15 \* \* \* \* (.*)$/);
    const loud = /`(rerunsafe lock backup --quiet .*?)`/m.exec(prose)?.[1] ?? '';
    expect((await call('rerunsafe set-up', HOST)).code).toBe(0);
    expect((await call(line, HOST)).code).toBe(0);
    expect(stage.words()).toBe(1);
    stage.script('taken', `#!/bin/sh\n${line.replaceAll('/opt/', `${stage.home}/opt/`)}\n`);
    const taken = await call('rerunsafe lock backup -- "$HOME/taken"', HOST);
    expect(taken).toMatchObject({ code: 75, stderr: expect.stringContaining('holds the lock') });
    stage.script('taken', `#!/bin/sh\n${loud.replaceAll('/opt/', `${stage.home}/opt/`)}\n`);
    // The one line is that of the lock around it, whose command has failed.
    expect(await call('rerunsafe lock backup -- "$HOME/taken"', HOST)).toEqual({
      code: 75,
      stdout: '',
      stderr: 'rerunsafe: "backup": exit code 75\n',
    });
    expect(stage.words()).toBe(1);
    stage.script('opt/backup/run.sh', '#!/bin/sh\nexit 3\n');
    expect((await call(loud, HOST)).stderr).toBe('rerunsafe: "backup": exit code 3\n');
  });

  it('the two scripts of a WebJob ask for the same', () => {
    const args = (text: string): string | undefined => /rerunsafe (run .*)$/m.exec(text)?.[1]?.replaceAll("'", '"');
    const [sh = '', cmd = ''] = [...blocksOf('Azure WebJobs', 'sh'), ...blocksOf('Azure WebJobs', 'bat')];
    expect(args(sh)).toBeDefined();
    expect(args(cmd)).toBe(args(sh));
    const [settings = ''] = blocksOf('Azure WebJobs', 'json');
    expect(args(sh)).toContain(`--slot "${(JSON.parse(settings) as { schedule: string }).schedule}"`);
  });
});
