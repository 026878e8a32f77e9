/**
 * The places of this process: in hand, in flight, and answered. They are taken in blocks, ahead of need where the pace
 * makes calls wait, so that a slow database costs no throughput.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock.ts';
import type { Pace, Places } from '../model/pace.ts';

/** With what two clocks differ in a minute. */
const windowMs = 60_050;
/** Answers of the same half second cease to count together. */
const binMs = 500;
/** So long do places in hand and in flight count, should this process be gone; each call of `take` says it again. */
const heldMs = 120_000;
/** A place that was not used for so long is given back: later ones must not bunch up behind it. */
const lapseMs = 2_000;
/** Places taken at once where nothing waits for the pace: as many as a run without news needs. */
const few = 8;
/** Nobody takes places for longer than that ahead, however slow the database is. */
const farthestMs = 2_000;

export function createHand(places: Places, capacity: number, clock: Clock) {
  const owner = randomUUID().slice(0, 8);
  let hand: { readonly at: number; readonly level: number }[] = [];
  let inFlight = 0;
  /** Answers by half second that `places` may not have heard of. */
  const bins = new Map<number, number>();
  let askMs = 0;
  let isPaced = false;

  const report = (wanted: number, now: number) =>
    Object.fromEntries([
      [owner, [hand.length + inFlight + wanted, heldMs] as const],
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
    /** The next place, while it is good. */
    next: (now: number) => {
      while (hand[0] !== undefined && hand[0].at + lapseMs < now) hand.shift();
      return hand[0];
    },
    /** Whether so few are left that more have to be asked for by now. */
    runsOut: (periodMs: number) => isPaced && hand.length <= Math.max(2, ahead(periodMs) + 1),
    isFull: () => hand.length + inFlight >= capacity,
    /** Asks for a block, as large as the time that asking takes calls for. */
    fill: async (pace: Pace, isWanted: () => boolean) => {
      const block = Math.max(Math.min(few, pace.burst), ahead(pace.periodMs) + 2);
      const wanted = Math.max(1, Math.min(block, capacity - hand.length - inFlight));
      const { dueMs, sentMs } = await take(wanted, pace);
      const now = clock.monotonicMs();
      askMs = Math.max(now - sentMs, askMs * 0.9);
      if (!isWanted()) return;
      for (let i = 0; i < wanted; i += 1) {
        const due = dueMs + i * pace.periodMs;
        const wait = Math.max(0, due - (pace.burst - 1) * pace.periodMs);
        hand.push({ at: now + wait, level: (due + pace.periodMs - wait) / pace.periodMs });
        isPaced = wait > 0;
      }
    },
    use: () => {
      inFlight += 1;
      return hand.shift();
    },
    answered: (sent: boolean) => {
      inFlight -= 1;
      if (!sent) return;
      const bin = Math.floor(clock.monotonicMs() / binMs);
      bins.set(bin, (bins.get(bin) ?? 0) + 1);
    },
    drop: () => {
      hand = [];
    },
    close: async (pace: Pace) => {
      const unused = hand.length;
      hand = [];
      if (unused + inFlight + bins.size > 0) await take(-unused, pace);
    },
  };
}
