/** `node dist/healthcheck.js [path]`: 0 if the daemon beside it is well, 1 if not. A container's HEALTHCHECK. */
import { askHealth } from './http/check-health.ts';

const { healthy, words } = await askHealth(process.env, process.argv[2]);
process.stdout.write(`${words}\n`);
process.exitCode = healthy ? 0 : 1;
