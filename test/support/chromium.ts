/**
 * Debian's Chromium, driven by `playwright-core`.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const PATH = '/usr/bin/chromium';

/** Under `CI=true` its lack is a failure, elsewhere the tests say so in a line. */
export function chromiumAvailable(): boolean {
  if (existsSync(PATH)) return true;
  const missing = `there is no ${PATH}`;
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`The browser is left out: ${missing}.`);
  return false;
}

/** Root has no sandbox. It sees pages of ours alone. */
export const startChromium = (): Promise<Browser> => chromium.launch({ executablePath: PATH, args: ['--no-sandbox', '--disable-gpu'] });
