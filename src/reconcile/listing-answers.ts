/** Answers of a listing that changed nothing. Equal answers are skipped for a day, by the same program and settings. */
import { toJson } from '../model/json.ts';
import type { Listing, ListingAnswers, ListingMemory } from '../model/listing.ts';

/** The settings that decide, together with the answers, if a listing can be skipped. */
export interface ListingSettings {
  readonly program: string;
  readonly pageSize: number | undefined;
}

const longestMs = 24 * 3_600_000;

const setupOf = ({ program, pageSize }: ListingSettings) => toJson([program, pageSize]);

/** The memory, without its answers if they are out of date. */
export function whileFresh({ agreed, ...memory }: ListingMemory, settings: ListingSettings): ListingMemory {
  const ageMs = Date.now() - (agreed?.atMs ?? 0);
  const isFresh = ageMs >= 0 && ageMs < longestMs && agreed?.setup === setupOf(settings);
  return isFresh ? { ...memory, agreed } : memory;
}

/** The answers of a complete listing. They are stored only if publishing the listing changes nothing. */
export function answersOf(
  { status, digests, count }: Pick<Listing<unknown>, 'status' | 'digests' | 'count'>,
  settings: ListingSettings,
): ListingAnswers | null {
  if (status === 'incomplete' || digests === null) return null;
  return { digests, count, setup: setupOf(settings), atMs: Date.now() };
}
