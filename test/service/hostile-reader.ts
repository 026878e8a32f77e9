/** Asks for users again and again, in a process of its own, and tells as JSON what came of each and what it took. */

import { systemClock } from '../../src/clock.ts';
import { createSecret } from '../../src/secret.ts';
import { createServiceClient } from '../../src/service/client.ts';

const [baseUrl = '', count] = process.argv.slice(2);
const client = createServiceClient({
  baseUrl,
  mode: 'read-only',
  credentials: { secretId: 'id', secretKey: createSecret('key') },
  clock: systemClock,
  retry: { attempts: 1 },
});
const outcomes: { readonly outcome: string; readonly rssMb: number }[] = [];
for (let call = 0; call < Number(count); call += 1) {
  const outcome = await client.users({ emails: [], phones: [] }).then(
    () => 'taken',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  // What the one before left behind would count against the next.
  globalThis.gc?.();
  outcomes.push({ outcome, rssMb: Math.round(process.resourceUsage().maxRSS / 1024) });
}
process.stdout.write(JSON.stringify(outcomes));
await client.close();
