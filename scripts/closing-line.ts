/**
 * The last line of a test run, for machines: `N passed, N failed`, alone on its line.
 *
 * @module
 */
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

export class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0;
    // What broke outside a test counts as a failure: a file that does not load must not look like a green run with fewer tests.
    let failed = unhandled.length;
    for (const module of modules) {
      let inTests = 0;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        if (state === 'failed') inTests += 1;
      }
      failed += inTests > 0 || module.ok() ? inTests : 1;
    }
    const line = `${passed} passed, ${failed} failed\n`;
    // After the other reporters have had their say.
    process.once('exit', () => process.stdout.write(line));
  }
}
