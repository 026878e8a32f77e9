import { setFlagsFromString } from 'node:v8';

let underWay = 0;

/**
 * What a long answer is parsed to, piece by piece, is let go at once. Room for young objects would grow to 100 MB all
 * the same; but in small room all others are collected too often, so it may grow again afterwards.
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
