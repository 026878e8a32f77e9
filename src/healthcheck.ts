/**
 * `node dist/healthcheck.js [path]` exits with 0 if the daemon beside it is well, with 1 if not. A container's
 * HEALTHCHECK uses it.
 */
import { askHealth } from './http/check-health.ts';

const { healthy, words } = await askHealth(process.env, process.argv[2]);
process.stdout.write(`${words}\n`);
process.exitCode = healthy ? 0 : 1;
