import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type ErrorCode, MusterdError } from '../../src/errors.ts';
import { loadConfiguration } from '../support/load-config.ts';
import { ownFolder } from './own-folder.ts';

export type Environment = Readonly<Record<string, string>>;

/** A file of settings in a folder of its own, written anew by each test. */
export function useSettingsFile() {
  const folder = ownFolder();
  const file = join(folder, 'settings.yaml');
  const write = (name: string, text: string, mode = 0o600): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  const load = (yaml: string, env: Environment = {}) => loadConfiguration(write('settings.yaml', yaml), env);
  /** What is wrong, without the path of the file; empty if nothing is. */
  const complaint = (work: () => unknown, code: ErrorCode = 'configuration'): string => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof MusterdError)) throw error;
      expect(error.code).toBe(code);
      return `${error.message}${code === 'usage' ? ` / ${error.hint}` : ''}`.replaceAll(`${file}:`, '');
    }
    return '';
  };
  const complaintOf = (yaml: string, env: Environment = {}) => complaint(() => load(yaml, env));
  return { folder, file, write, load, complaint, complaintOf };
}
