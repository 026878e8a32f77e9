import type { Field } from '../../model/fields.ts';
import type { Intent, PushOutcome } from '../../model/intent.ts';
import type { ServiceUser } from '../../model/user.ts';
import { chunks } from '../chunks.ts';
import { judgeLate, patchedFields } from './outcome.ts';
import { type PushContext, type PushSettings, readBackIntents, record } from './record.ts';
import { type AnsweredIntent, neverLeft } from './result.ts';

const isConfirmed = ({ outcomes }: AnsweredIntent): boolean =>
  Object.values(outcomes).every((outcome) => outcome === 'confirmed');

/**
 * Judges an open push. A field that an earlier run saw confirmed stays confirmed, even if the service shows another value
 * now. A field that was refused stays refused, unless the service shows the sent value.
 */
function judgeOpen(intent: Intent, seen: ServiceUser | null, quiet: boolean): AnsweredIntent {
  const outcomes = judgeLate(intent.sent, intent.before, seen, quiet);
  const { known = {} } = intent;
  const fields = patchedFields(intent.sent);
  const isOf = (field: Field, outcome: PushOutcome) =>
    known[field] === outcome && outcomes[field] !== 'confirmed';
  if (fields.some((field) => isOf(field, 'confirmed'))) {
    const taken = fields.map((field) => [field, known[field] ?? 'unknown'] as const);
    return { intent, seen: null, outcomes: Object.fromEntries(taken), requestId: null };
  }
  const judged = fields.map(
    (field) => [field, isOf(field, 'refused') ? 'refused' : outcomes[field]] as const,
  );
  return { intent, seen, outcomes: Object.fromEntries(judged), requestId: null };
}

/**
 * Settles pushes with an unknown outcome from earlier runs. Only the holder of the lease may send, and it marks the
 * intent first (`hasLeft`). This run has the lease now, so an unmarked intent was never sent, and only this run could send it.
 *
 * If nothing may be sent (`sendBlock`), this mirror may be a copy, and the original may still send an unmarked intent.
 * Then only pushes whose values the service shows are recorded. All other pushes stay open.
 */
export async function settleIntents(places: PushContext, settings: PushSettings): Promise<void> {
  const { mirror, notes, sendBlock } = places;
  const intents = await mirror.readIntents();
  const mayHaveLeft = (intent: Intent) => intent.hasLeft || sendBlock !== undefined;
  await record(places, settings, intents.filter((intent) => !mayHaveLeft(intent)).map(neverLeft));
  for (const batch of chunks(intents.filter(mayHaveLeft), 100)) {
    const seen = await readBackIntents(places, batch);
    const answers = batch.map((intent) =>
      judgeOpen(intent, seen.get(intent.userId) ?? null, intent.ageMs >= settings.quietPeriodMs),
    );
    notes.event({ kind: 'step', step: 'open pushes' });
    await record(places, settings, sendBlock === undefined ? answers : answers.filter(isConfirmed));
  }
}
