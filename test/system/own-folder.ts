import { afterAll } from 'vitest';
import { temporaryFolder } from '../support/checkout.ts';

/** A folder for temporary files until the tests of this file, or of this `describe`, are over. @returns its path */
export function ownFolder(): string {
  const folder = temporaryFolder();
  afterAll(() => folder[Symbol.dispose]());
  return folder.path;
}
