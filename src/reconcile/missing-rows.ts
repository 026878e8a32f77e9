/** Decides when a row that is missing from a complete listing may be marked as gone. */
import { createHash } from 'node:crypto';
import type {
  AbsenceGrounds,
  AbsenceVerdict,
  AbsentRow,
  MirroredResource,
  WithheldAbsence,
} from '../model/absence.ts';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { ListingFilter } from '../model/listing.ts';
import type { MirrorPort } from './ports.ts';

export interface AbsenceSettings {
  /** Least ms between the first complete pass without a row and the pass that marks it as gone. */
  readonly confirmAfterMs: number;
}

/** The part of the service that the settings select. */
export interface Scope {
  readonly baseUrl: string;
  readonly filters: Readonly<Partial<Record<MirroredResource, ListingFilter>>>;
}

interface AbsenceJudgement {
  /** Rows that have been missing long enough, to be checked one by one if the interface allows it. */
  readonly due: readonly Id[];
  /** Rows that exist although the listing leaves them out; least recently checked first. */
  readonly found: readonly Id[];
  /** The rows that may not be marked as gone now, and the reason. */
  readonly withheld: WithheldAbsence | null;
  /** Whether the only withheld rows are those that a person left out. */
  readonly scopeIsUsual: boolean;
}

function shortHash(value: unknown): string {
  return createHash('sha256').update(toJson(value)).digest('hex').slice(0, 12);
}

/** Identifies what is requested: it changes with the address and the filter. */
export function scopeOf(resource: MirroredResource, { baseUrl, filters }: Scope): string {
  const filter = Object.entries(filters[resource] ?? {}).filter(([, value]) => value !== undefined);
  return shortHash([new URL(baseUrl).href, filter.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** Identifies this set of rows of this resource. */
export function absenceHash(resource: MirroredResource, ids: readonly Id[]): string {
  return shortHash([resource, ids.toSorted((a, b) => (a < b ? -1 : 1))]);
}

interface Missing {
  readonly missing: number;
  readonly population: number;
  readonly scopeChanged: boolean;
}

const share = ({ missing, population }: Missing) => `${missing} of ${population} rows are missing`;
/** If more rows are missing than the greater of these two, it counts as an accident. */
const [mostMissing, mostShareMissing] = [3, 0.1];
const limitOf = ({ population }: Missing) => Math.max(mostMissing, Math.floor(population * mostShareMissing));

/** The reasons why a run does not mark rows as gone by itself, the gravest first. `musterd approve` resolves each of them. */
export const absenceDoubts = {
  empty: (found) =>
    found.population > 0 && found.missing >= found.population
      ? `${share(found)}: an empty list proves nothing`
      : null,
  half: (found) => (found.missing * 2 > found.population ? `${share(found)}, more than half` : null),
  limit: (found) =>
    found.missing > limitOf(found) ? `${share(found)}, more than the limit of ${limitOf(found)}` : null,
  scope: (found) =>
    found.scopeChanged ? `${share(found)}, and the settings ask for something else than before` : null,
} as const satisfies Readonly<Record<string, (found: Missing) => string | null>>;

function doubtAbout(missing: Missing): string | null {
  if (missing.missing === 0) return null;
  for (const doubt of Object.values(absenceDoubts)) {
    const words = doubt(missing);
    if (words !== null) return words;
  }
  return null;
}

/** The message for people, and what to do. */
export function sayWithheld(resource: MirroredResource, { reason, hash }: WithheldAbsence): string {
  return `${resource}: ${reason}; none of them is marked as gone before somebody says "musterd approve ${hash} --reason …"`;
}

/** Read only if rows are missing: nothing else needs them. */
export async function readGrounds(
  resource: MirroredResource,
  missing: number,
  mirror: Pick<MirrorPort, 'readAbsenceGrounds'>,
): Promise<AbsenceGrounds> {
  return missing === 0 ? { scope: null, decided: new Map() } : await mirror.readAbsenceGrounds(resource);
}

const wordsOnLeft = (rows: number) =>
  `${rows} missing ${rows === 1 ? 'row was' : 'rows were'} left out of an approval`;

/**
 * A verdict counts as long as its row is missing and, if it has a scope, as long as the settings select that scope:
 *
 * | Verdict  | Counts against the limits       | Marked as gone                                       | Withheld            |
 * |----------|---------------------------------|------------------------------------------------------|---------------------|
 * | none     | yes                             | once missing for long enough, if nothing is in doubt | if there is a doubt |
 * | approved | no                              | once missing for long enough                         | never               |
 * | left     | no                              | never                                                | always              |
 * | found    | no, nor is it among those shown | never                                                | never               |
 *
 * @param absent every present row that the complete pass did not contain
 * @param population number of rows present before the pass
 */
export function judgeAbsences(
  resource: MirroredResource,
  { absent, population }: { readonly absent: readonly AbsentRow[]; readonly population: number },
  settings: AbsenceSettings,
  grounds: AbsenceGrounds & { readonly scopeNow: string },
): AbsenceJudgement {
  const { decided, scope, scopeNow } = grounds;
  const verdictOf = (id: Id): AbsenceVerdict | undefined => {
    const decision = decided.get(id);
    return decision?.scope === null || decision?.scope === scopeNow ? decision.verdict : undefined;
  };
  const verdicts = new Map(absent.map(({ id }) => [id, verdictOf(id)]));
  const count = (verdict: AbsenceVerdict | undefined) =>
    absent.filter(({ id }) => verdicts.get(id) === verdict).length;
  const found = [...decided.keys()].filter((id) => verdicts.get(id) === 'found');
  const scopeChanged = scope !== null && scope !== scopeNow;
  // Rows that are left out anyway prove nothing about the listing.
  const doubt = doubtAbout({
    missing: count(undefined),
    population: population - found.length,
    scopeChanged,
  });
  const mayGo = (id: Id) =>
    verdicts.get(id) === 'approved' || (verdicts.get(id) === undefined && doubt === null);
  const due = absent.filter(
    ({ id, missingForMs }) =>
      mayGo(id) && missingForMs !== undefined && missingForMs >= settings.confirmAfterMs,
  );
  const ids = absent
    .map(({ id }) => id)
    .filter((id) => verdicts.get(id) === 'left' || (verdicts.get(id) === undefined && doubt !== null));
  const left = count('left');
  const reasons = [...(doubt === null ? [] : [doubt]), ...(left === 0 ? [] : [wordsOnLeft(left)])];
  return {
    due: due.map(({ id }) => id),
    found,
    withheld: ids.length === 0 ? null : { hash: absenceHash(resource, ids), reason: reasons.join('; '), ids },
    scopeIsUsual: doubt === null,
  };
}
