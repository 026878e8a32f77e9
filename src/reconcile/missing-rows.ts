/** Decides when a row that is missing from a complete listing may be marked as gone. */
import { createHash } from 'node:crypto';
import type {
  AbsenceVerdict,
  AbsenceVerdicts,
  AbsentRow,
  MirroredResource,
  WithheldAbsence,
} from '../model/absence.ts';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { MirrorPort } from './ports.ts';

export interface AbsenceSettings {
  /** A row must be missing from complete listings for at least this many ms before a run marks it as gone. */
  readonly confirmAfterMs: number;
}

interface AbsenceJudgement {
  /** Rows that have been missing long enough, to be checked one by one if the interface allows it. */
  readonly due: readonly Id[];
  /** Rows that exist although the listing leaves them out; least recently checked first. */
  readonly found: readonly Id[];
  /** The rows that may not be marked as gone now, and the reason. */
  readonly withheld: WithheldAbsence | null;
}

/** Returns a hash that identifies this set of rows of this resource. */
export function absenceHash(resource: MirroredResource, ids: readonly Id[]): string {
  const named = toJson([resource, ids.toSorted((a, b) => (a < b ? -1 : 1))]);
  return createHash('sha256').update(named).digest('hex').slice(0, 12);
}

interface Missing {
  readonly missing: number;
  readonly population: number;
}

const share = ({ missing, population }: Missing) => `${missing} of ${population} rows are missing`;
/** If more rows are missing than the greater of this number and this share of all rows, a person must decide. */
const [mostMissing, mostShareMissing] = [3, 0.1];
const limitOf = ({ population }: Missing) => Math.max(mostMissing, Math.floor(population * mostShareMissing));

/** Reasons not to mark rows as gone until a person decides, the gravest first. "musterd approve" overrides each reason. */
export const absenceDoubts = {
  empty: (found) =>
    found.population > 0 && found.missing >= found.population
      ? `${share(found)}: an empty list proves nothing`
      : null,
  half: (found) => (found.missing * 2 > found.population ? `${share(found)}, more than half` : null),
  limit: (found) =>
    found.missing > limitOf(found) ? `${share(found)}, more than the limit of ${limitOf(found)}` : null,
} as const satisfies Readonly<Record<string, (found: Missing) => string | null>>;

function doubtAbout(missing: Missing): string | null {
  if (missing.missing === 0) return null;
  for (const doubt of Object.values(absenceDoubts)) {
    const words = doubt(missing);
    if (words !== null) return words;
  }
  return null;
}

/** The message to people about withheld rows, with the command to type. */
export function sayWithheld(resource: MirroredResource, { reason, hash }: WithheldAbsence): string {
  return `${resource}: ${reason}; none of them is marked as gone until a person approves batch ${hash}`;
}

/** Reads the verdicts on missing rows, but makes a query only if there are missing rows. */
export async function readVerdicts(
  resource: MirroredResource,
  missing: number,
  mirror: Pick<MirrorPort, 'readAbsenceVerdicts'>,
): Promise<AbsenceVerdicts> {
  return missing === 0 ? new Map() : await mirror.readAbsenceVerdicts(resource);
}

const wordsOnLeft = (rows: number) =>
  `${rows} missing ${rows === 1 ? 'row was' : 'rows were'} left out of an approval`;

/**
 * Judges missing rows by their verdicts. A verdict counts as long as its row is missing:
 *
 * | Verdict  | Counts against the limits       | Marked as gone                                       | Withheld            |
 * |----------|---------------------------------|------------------------------------------------------|---------------------|
 * | none     | yes                             | once missing for long enough, if nothing is in doubt | if there is a doubt |
 * | approved | no                              | once missing for long enough                         | never               |
 * | left     | no                              | never                                                | always              |
 * | found    | no (left out of all counts)     | never                                                | never               |
 *
 * @param absent the present rows of the mirror (not marked as gone) that the complete listing lacks
 * @param population the number of present rows of the mirror before the listing was read
 */
export function judgeAbsences(
  resource: MirroredResource,
  { absent, population }: { readonly absent: readonly AbsentRow[]; readonly population: number },
  settings: AbsenceSettings,
  verdicts: AbsenceVerdicts,
): AbsenceJudgement {
  const isAbsent = new Set(absent.map(({ id }) => id));
  const count = (verdict: AbsenceVerdict | undefined) =>
    absent.filter(({ id }) => verdicts.get(id) === verdict).length;
  const found = [...verdicts.keys()].filter((id) => isAbsent.has(id) && verdicts.get(id) === 'found');
  // The listing always leaves out rows with the verdict `found`, so the doubt does not count them.
  const doubt = doubtAbout({ missing: count(undefined), population: population - found.length });
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
  };
}
