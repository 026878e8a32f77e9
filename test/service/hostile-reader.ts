/** Reads answers as musterd does, in a process of its own, and tells as JSON what came of each and what it took. */

import { systemClock } from '../../src/clock.ts';
import tags from '../../src/model/listed/tags.ts';
import { nothingLearned } from '../../src/model/listing.ts';
import { createSecret } from '../../src/secret.ts';
import { createServiceClient } from '../../src/service/client.ts';

/** What is asked for, one after another: each a call of the client. */
const [baseUrl = '', ...asked] = process.argv.slice(2);
const client = createServiceClient({
  baseUrl,
  mode: 'read-only',
  credentials: { secretId: 'id', secretKey: createSecret('key') },
  clock: systemClock,
  retry: { attempts: 1 },
});
const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  users: () => client.users({ emails: [], phones: [] }),
  team: () => client.team(),
  tags: () => client.list(tags, { memory: nothingLearned, size: 100 }),
  count: () => client.contactCount({}),
};
const outcomes: { readonly outcome: string; readonly rssMb: number }[] = [];
for (const call of asked) {
  const outcome = await (calls[call]?.() ?? Promise.reject(new Error(`no such call: ${call}`))).then(
    () => 'taken',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  // What the one before left behind would count against the next.
  globalThis.gc?.();
  outcomes.push({ outcome, rssMb: Math.round(process.resourceUsage().maxRSS / 1024) });
}
process.stdout.write(JSON.stringify(outcomes));
await client.close();
