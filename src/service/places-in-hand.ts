/**
 * The places of this process: reserved, in flight, and answered. They are reserved in blocks, and ahead of need if the
 * pace makes calls wait, so that a slow database costs no throughput.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Pace, Places } from '../model/pace.ts';

/** How far two clocks drift apart within a minute, in ms. */
const windowMs = 60_050;
/** Answers within the same half second expire together. */
const binMs = 500;
/** How long reserved places and those in flight count if this process dies; each call of `take` renews this. */
const heldMs = 120_000;
/** An unused place is given back after this time, so that later ones do not bunch up behind it. */
const lapseMs = 2_000;
/** Places per block if nothing waits for the pace: as many as a run with nothing to do needs. */
const few = 8;
/** Longest time ahead for which places are reserved, however slow the database is. */
const farthestMs = 2_000;

export function createPlacesInHand(places: Places, capacity: number, clock: Clock) {
  const owner = randomUUID().slice(0, 8);
  let inHand: { readonly at: number; readonly level: number }[] = [];
  let inFlight = 0;
  /** Answers per half second that `places` may not know yet. */
  const bins = new Map<number, number>();
  let askMs = 0;
  let isPaced = false;

  const report = (wanted: number, now: number) =>
    Object.fromEntries([
      [owner, [inHand.length + inFlight + wanted, heldMs] as const],
      ...[...bins].map(
        ([bin, answers]) => [`${owner}.${bin}`, [answers, (bin + 1) * binMs - now + windowMs]] as const,
      ),
    ]);
  const take = async (wanted: number, pace: Pace) => {
    const sentMs = clock.monotonicMs();
    const dueMs = await places.take({
      places: wanted,
      capacity,
      ...pace,
      counted: report(Math.max(0, wanted), sentMs),
    });
    for (const bin of bins.keys()) if ((bin + 1) * binMs <= sentMs) bins.delete(bin);
    return { dueMs, sentMs };
  };
  const ahead = (periodMs: number) => Math.ceil(Math.min(askMs, farthestMs) / periodMs);

  return {
    /** The next valid place. */
    next: (now: number) => {
      while (inHand[0] !== undefined && inHand[0].at + lapseMs < now) inHand.shift();
      return inHand[0];
    },
    /** Whether more places have to be requested now. */
    runsOut: (periodMs: number) => isPaced && inHand.length <= Math.max(2, ahead(periodMs) + 1),
    isFull: () => inHand.length + inFlight >= capacity,
    /** Requests a block, sized by how long the request takes. */
    fill: async (pace: Pace, isWanted: () => boolean) => {
      const block = Math.max(Math.min(few, pace.burst), ahead(pace.periodMs) + 2);
      const wanted = Math.max(1, Math.min(block, capacity - inHand.length - inFlight));
      const { dueMs, sentMs } = await take(wanted, pace);
      const now = clock.monotonicMs();
      askMs = Math.max(now - sentMs, askMs * 0.9);
      if (!isWanted()) return;
      for (let i = 0; i < wanted; i += 1) {
        const due = dueMs + i * pace.periodMs;
        const wait = Math.max(0, due - (pace.burst - 1) * pace.periodMs);
        inHand.push({ at: now + wait, level: (due + pace.periodMs - wait) / pace.periodMs });
        isPaced = wait > 0;
      }
    },
    use: () => {
      inFlight += 1;
      return inHand.shift();
    },
    answered: (sent: boolean) => {
      inFlight -= 1;
      if (!sent) return;
      const bin = Math.floor(clock.monotonicMs() / binMs);
      bins.set(bin, (bins.get(bin) ?? 0) + 1);
    },
    drop: () => {
      inHand = [];
    },
    close: async (pace: Pace) => {
      const unused = inHand.length;
      inHand = [];
      if (unused + inFlight + bins.size > 0) await take(-unused, pace);
    },
  };
}
