import { vi } from 'vitest';

/** Counts the turns of the event loop that others have. */
export function countTurns() {
  let turns = 0;
  let next: NodeJS.Immediate;
  const take = () => {
    turns += 1;
    next = setImmediate(take);
  };
  next = setImmediate(take);
  return { soFar: () => turns, end: () => clearImmediate(next) };
}

/** How many turns others have had until this is done. */
export async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  const turns = countTurns();
  try {
    await work();
  } finally {
    turns.end();
  }
  return turns.soFar();
}

/** The same where each look at the clock finds that a turn has lasted long enough, on any machine. */
export async function turnsAtEachLook(work: () => Promise<unknown>): Promise<number> {
  let nowMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1_000));
  try {
    return await turnsDuring(work);
  } finally {
    clock.mockRestore();
  }
}
