/** Makes objects that live for a while, and tells as JSON how much room the young ones of them were given. */
import { getHeapSpaceStatistics } from 'node:v8';
import { withSmallNursery } from '../../src/service/small-nursery.ts';

const roomMb = () =>
  (getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? 0) / 2 ** 20;

/** Each outlives a few collections: room that may grow does. */
function work(): Promise<number> {
  const held: object[] = [];
  for (let made = 0; made < 3_000_000; made += 1) held[made % 300_000] = { made };
  return Promise.resolve(roomMb());
}

const first = Promise.withResolvers<void>();
const beside = withSmallNursery(() => first.promise);
const within = await withSmallNursery(work);
const stillWithin = await work();
first.resolve();
await beside;
const after = await work();
process.stdout.write(JSON.stringify({ within, stillWithin, after }));
