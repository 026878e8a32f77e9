/** Prometheus's own tool, where it is installed; no test needs it. */
import { spawnSync } from 'node:child_process';

export const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

function ask(words: readonly string[], input?: string): string {
  const { status, stdout, stderr } = spawnSync('promtool', words, { input, encoding: 'utf8' });
  return status === 0 ? '' : `${stdout}${stderr}`;
}

/** @returns what it complains of in a scrape */
export const promtoolCheck = (scrape: string) => ask(['check', 'metrics'], scrape);

/** @returns what does not come out as a file of rule tests says */
export const promtoolTest = (file: string) => ask(['test', 'rules', file]);
