/**
 * `npm run crash -- [--command reconcile] [--how kill] [--from 1] [--to 99] [--every 4]` ends commands at all of
 * their points, or at these, and says how many it were; see `crash-points.test.ts`.
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    command: { type: 'string' },
    how: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    every: { type: 'string' },
  },
});
const vitest = spawn('npx', ['vitest', 'run', 'test/crash/crash-points.test.ts'], {
  env: { ...process.env, CRASH: JSON.stringify(values) },
  stdio: 'inherit',
});
vitest.on('close', (code) => {
  process.exitCode = code ?? 1;
});
