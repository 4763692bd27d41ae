/**
 * How long the long tests are. `RERUNSAFE_LONG=1`, as in CI: as long as a promise is given for. `RERUNSAFE_LONG=2`, by hand: all of them at their longest.
 *
 * @module
 */
const level = Number(process.env.RERUNSAFE_LONG ?? 0);

export const LONG = level >= 1;

/** For each of the three. */
export const byLength = <V>(usual: V, inCi: V, longest: V): V => (level >= 2 ? longest : level >= 1 ? inCi : usual);
