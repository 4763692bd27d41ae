import type { Describe, It } from '../../src/testing/index.ts';

interface Registered {
  readonly title: string;
  readonly body: () => Promise<void>;
}

/** Runs a suite without reporting it, and gives the titles of the cases that failed: how a suite is shown to be able to fail. */
export async function failures(suite: (runner: { describe: Describe; it: It }) => void): Promise<string[]> {
  const cases: Registered[] = [];
  suite({ describe: (_name, body) => body(), it: (title, body) => cases.push({ title, body }) });
  if (cases.length === 0) throw new Error('the suite registered no case');
  const failed: string[] = [];
  for (const { title, body } of cases) {
    try {
      await body();
    } catch {
      failed.push(title);
    }
  }
  return failed;
}
