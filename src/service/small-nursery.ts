import { setFlagsFromString } from 'node:v8';

let underWay = 0;

/**
 * The values parsed from a long answer are released piece by piece, and so is what a first run makes of them for
 * Postgres. V8's young generation would still grow to 100 MB, so it is kept small meanwhile. Other work would be
 * collected too often in it, so it may grow again afterwards.
 */
export async function withSmallNursery<T>(work: () => Promise<T>): Promise<T> {
  underWay += 1;
  setFlagsFromString('--semi-space-growth-factor=1');
  try {
    return await work();
  } finally {
    underWay -= 1;
    if (underWay === 0) setFlagsFromString('--semi-space-growth-factor=2');
  }
}
