/** The metrics that are read from the database at each scrape. */
import type { TeamFreshness } from '../model/freshness.ts';
import type { GroupStatus } from '../model/run-group.ts';
import type { PlaceVerdict } from '../model/place.ts';
import { holdReasons } from '../model/edit-state.ts';
import type { Standings } from './group-status.ts';
import type { Meters } from './prometheus.ts';
import { withTimeout } from './with-timeout.ts';

export interface ScrapeOptions {
  readonly standings: Standings;
  /** Judges which teams are fresh. Without it, the metric `fresh` is left out. */
  readonly judge?: (standings: readonly GroupStatus[]) => readonly TeamFreshness[];
  readonly readHeld?: () => Promise<
    readonly {
      readonly team: string;
      readonly state: string;
      readonly reason: string;
      readonly count: number;
    }[]
  >;
  readonly readRate?: () => Promise<readonly { readonly team: string; readonly tokens: number }[]>;
  /** Reads whether the mirror is at its recorded place. */
  readonly readPlace?: () => Promise<PlaceVerdict>;
  /** How long a scrape waits for the database, in ms. */
  readonly patienceMs?: number;
}

/** All values of a label. The type ensures that none is missing. */
export const labelWords = <T extends string>(words: Readonly<Record<T, true>>): readonly string[] =>
  Object.keys(words);
/** Bounds the values of a label: any other word becomes `other`. */
export const knownWord = (words: readonly string[], word: string) => (words.includes(word) ? word : 'other');

const reasons = Object.keys(holdReasons);

const placeStates = labelWords<PlaceVerdict>({ here: true, unrecorded: true, copy: true, elsewhere: true });

/**
 * Updates the metrics that come from the database. If it does not answer, times keep their last values, `fresh` is
 * computed from these values and the time since then, and the other metrics from the database are left out.
 */
export function createScrape(
  meters: Meters,
  options: ScrapeOptions,
  teams: () => readonly string[],
): () => Promise<void> {
  const { readHeld, readRate, readPlace, judge, patienceMs = 3_000 } = options;
  const ask = async <T>(read: (() => Promise<readonly T[]>) | undefined): Promise<readonly T[] | null> =>
    read === undefined ? [] : await withTimeout(patienceMs, read()).catch(() => null);
  return async () => {
    const readPlaces = readPlace === undefined ? undefined : async () => [await readPlace()];
    const [{ standings, current }, ...others] = await Promise.all([
      options.standings.read(),
      ask(readHeld),
      ask(readRate),
      ask(readPlaces),
    ]);
    const [held, rates, places] = others;
    meters.databaseUp.set(current && !others.includes(null) ? 1 : 0);
    showStandings(meters, standings);
    meters.fresh.reset();
    for (const { team, fresh } of judge?.(standings) ?? []) meters.fresh.set({ team }, fresh ? 1 : 0);
    showHeld(meters, teams(), held);
    meters.place.reset();
    for (const place of places ?? [])
      for (const state of placeStates) meters.place.set({ state }, state === place ? 1 : 0);
    meters.tokens.reset();
    for (const { team, tokens } of rates ?? []) meters.tokens.set({ team }, tokens);
  };
}

/** Sets the value 0 if nothing is held, because a missing metric would mean that the number could not be read. */
function showHeld(
  { held: ofHeld }: Meters,
  teams: readonly string[],
  held: Awaited<ReturnType<NonNullable<ScrapeOptions['readHeld']>>> | null,
): void {
  ofHeld.reset();
  for (const team of held === null ? [] : teams)
    for (const state of ['held', 'rejected'])
      for (const reason of reasons) ofHeld.set({ team, state, reason }, 0);
  for (const { team, state, reason, count } of held ?? [])
    ofHeld.inc({ team, state, reason: knownWord(reasons, reason) }, count);
}

function showStandings(meters: Meters, standings: readonly GroupStatus[]): void {
  const { lastAttempt, lastSuccess, failures } = meters;
  for (const gauge of [lastAttempt, lastSuccess, failures]) gauge.reset();
  for (const { team, group, startedAt, completeAt, failures: inARow } of standings) {
    if (startedAt !== null) lastAttempt.set({ team, group }, startedAt.getTime() / 1_000);
    if (completeAt !== null) lastSuccess.set({ team, group }, completeAt.getTime() / 1_000);
    failures.set({ team, group }, inARow);
  }
}
