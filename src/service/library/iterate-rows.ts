import { ServiceError } from '../../errors.ts';
import type { Id } from '../../model/id.ts';
import type { ListedRow } from '../../model/listed-resource.ts';
import type { Listing, ListingSink } from '../../model/listing.ts';
import type { MakeCall } from '../call.ts';
import { eitherOf } from '../cancel.ts';

/** If this many rows wait for the loop, the next page is not requested yet. */
const mostWaiting = 1_000;

/** Passes rows from a reading, which pushes them, to a loop, which pulls them. The reading may be a little ahead. */
function createQueue() {
  const ids = new Set<Id>();
  let waiting: ListedRow[] = [];
  let isOver = false;
  let arrival = Promise.withResolvers<void>();
  let room = Promise.withResolvers<void>();
  // If the reading starts again, it delivers rows again. Their ids show which rows were already passed on.
  const sink: ListingSink<ListedRow> = {
    clear: () => {},
    replace: () => {},
    add: (rows) => {
      waiting.push(...rows.filter(({ id }) => !ids.has(id)));
      for (const { id } of rows) ids.add(id);
      arrival.resolve();
    },
  };
  return {
    sink,
    isOver: () => isOver,
    hasRoom: async () => {
      if (waiting.length >= mostWaiting && !isOver) await room.promise;
    },
    /** Waits for rows, or for the end. */
    take: async () => {
      if (!isOver) await arrival.promise;
      const rows = waiting;
      waiting = [];
      room.resolve();
      arrival = Promise.withResolvers();
      room = Promise.withResolvers();
      return rows;
    },
    end: () => {
      isOver = true;
      arrival.resolve();
      room.resolve();
    },
  };
}

/**
 * The rows of a listing, each id once. No request is made before the caller asks for the first row. If the caller leaves
 * the loop early, requests in flight are ended.
 *
 * @param read reads the listing with the calls that it gets
 * @throws ServiceError at the end, if rows may be missing; and any error that the reading throws
 */
export async function* iterateRows(
  call: MakeCall,
  read: (call: MakeCall, sink: ListingSink<ListedRow>) => Promise<Listing<ListedRow>>,
  operation: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<ListedRow, void, undefined> {
  const left = new AbortController();
  const queue = createQueue();
  const ownCall: MakeCall = async (request) => {
    await queue.hasRoom();
    return await call({ ...request, signal: eitherOf(left.signal, signal) });
  };
  const reading = read(ownCall, queue.sink).finally(queue.end);
  // The reading is awaited only below, after its rows. Until then, its error must not count as unhandled.
  reading.catch(() => undefined);
  try {
    while (!queue.isOver()) yield* await queue.take();
    yield* await queue.take();
    const listing = await reading;
    if (listing.status === 'complete') return;
    const message = `${operation}: the listing is incomplete: ${listing.because}`;
    throw new ServiceError(message, { operation, phase: 'answered' });
  } finally {
    left.abort();
    queue.end();
    await Promise.allSettled([reading]);
  }
}
