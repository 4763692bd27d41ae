#!/usr/bin/env node
/**
 * `rerunsafe` on the command line.
 *
 * @module
 */
import node from 'node:module';

/** As `engines` in package.json. */
const OLDEST = [22, 13] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(`rerunsafe: Node ${OLDEST.join('.')} or newer is needed, and this is ${process.versions.node}. Nothing was run.\n`);
  process.exitCode = 78;
} else {
  node.enableCompileCache();
  const { main } = await import('./cli.ts');
  await main(process.argv);
}
