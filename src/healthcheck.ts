/** `node dist/healthcheck.js [path]`, a container's HEALTHCHECK, exits with 0 if the daemon in it is healthy. */
import { askHealth } from './http/check-health.ts';

const { healthy, words } = await askHealth(process.env, process.argv[2]);
process.stdout.write(`${words}\n`);
process.exitCode = healthy ? 0 : 1;
