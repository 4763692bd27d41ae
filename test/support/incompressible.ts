import { randomBytes } from 'node:crypto';

/** Text that compressing makes no smaller. */
export const incompressible = (length: number): string =>
  randomBytes(Math.ceil((length * 3) / 4))
    .toString('base64')
    .slice(0, length);
