/** Pushes of earlier runs with an unknown outcome. */
import { chunks } from '../chunks.ts';
import { judgeLate } from './outcome.ts';
import { type PushContext, type PushSettings, readBackIntents, record } from './record.ts';
import { neverLeft } from './request.ts';
import type { Answered } from './result.ts';

/**
 * Settles pushes with an unknown outcome from earlier runs. Only the holder of the lease may send, and it marks the
 * intent first. The lease is ours now: an intent without the mark was never sent and never will be.
 */
export async function settleIntents(places: PushContext, settings: PushSettings): Promise<void> {
  const { mirror, notes } = places;
  const intents = await mirror.readIntents();
  const unsent = intents.filter(({ hasLeft }) => !hasLeft);
  await record(places, settings, unsent.map(neverLeft));
  const left = intents.filter(({ hasLeft }) => hasLeft);
  for (const batch of chunks(left, 100)) {
    const seen = await readBackIntents(places, batch);
    const answers = batch.map((intent): Answered => {
      const user = seen.get(intent.userId) ?? null;
      const outcomes = judgeLate(intent.sent, intent.before, user, intent.ageMs >= settings.quietPeriodMs);
      return { intent, seen: user, outcomes, requestId: null };
    });
    notes.event({ kind: 'step', step: 'open pushes' });
    await record(places, settings, answers);
  }
}
