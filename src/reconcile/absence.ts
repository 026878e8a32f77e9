/** When a row that a complete listing does not show may be called gone. */
import { createHash } from 'node:crypto';
import type { AbsenceGrounds, AbsentRow, MirroredResource, WithheldAbsence } from '../model/absence.ts';
import type { Id } from '../model/id.ts';
import { toJson } from '../model/json.ts';
import type { ListingFilter } from '../model/listing.ts';

export interface AbsenceSettings {
  /** Ms that must lie between the first complete pass that misses a row and the one that calls it gone. */
  readonly confirmAfterMs: number;
  /** More missing rows than the greater of these two are an accident, not a departure. */
  readonly maxRows: number;
  /** Share of the rows present, 0 to 1. */
  readonly maxShare: number;
}

/** What the settings ask the service for. */
export interface Scope {
  readonly baseUrl: string;
  readonly filters: Readonly<Partial<Record<MirroredResource, ListingFilter>>>;
}

export interface AbsenceJudgement {
  /** Rows that have been missing for long enough, to be checked one by one where the interface can. */
  readonly due: readonly Id[];
  /** The rows of which none may be called gone now, and why. */
  readonly withheld: WithheldAbsence | null;
}

function shortHash(value: unknown): string {
  return createHash('sha256').update(toJson(value)).digest('hex').slice(0, 12);
}

/** Stands for what is asked for: another address or another filter makes another one. */
export function scopeOf(resource: MirroredResource, { baseUrl, filters }: Scope): string {
  const filter = Object.entries(filters[resource] ?? {}).filter(([, value]) => value !== undefined);
  return shortHash([new URL(baseUrl).href, filter.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
}

/** Stands for these rows of this resource. */
export function absenceHash(resource: MirroredResource, ids: readonly Id[]): string {
  return shortHash([resource, ids.toSorted((a, b) => (a < b ? -1 : 1))]);
}

/** Why a run does not decide by itself that these rows are gone; `null`: it may. */
function doubtAbout(
  missing: number,
  population: number,
  settings: AbsenceSettings,
  scopeChanged: boolean,
): string | null {
  if (missing === 0) return null;
  const limit = Math.max(settings.maxRows, Math.floor(population * settings.maxShare));
  const share = `${missing} of ${population} rows are missing`;
  if (population > 0 && missing >= population) return `${share}: an empty list proves nothing`;
  if (missing * 2 > population) return `${share}, more than half`;
  if (missing > limit) return `${share}, more than the limit of ${limit}`;
  return scopeChanged ? `${share}, and the settings ask for something else than before` : null;
}

/** What a person is told, and what to do about it. */
export function sayWithheld(resource: MirroredResource, { reason, hash }: WithheldAbsence): string {
  return `${resource}: ${reason}; none of them is called gone before somebody says "musterd approve ${hash} --reason …"`;
}

/**
 * Rows that a person agreed on do not count against the limits, and need the same proof as any others.
 *
 * @param absent every present row that the complete pass did not show
 * @param population how many rows were present before the pass
 */
export function judgeAbsences(
  resource: MirroredResource,
  { absent, population }: { readonly absent: readonly AbsentRow[]; readonly population: number },
  settings: AbsenceSettings,
  grounds: AbsenceGrounds & { readonly scopeNow: string },
): AbsenceJudgement {
  const { approved, scope, scopeNow } = grounds;
  const undecided = absent.filter(({ id }) => !approved.has(id)).map(({ id }) => id);
  const scopeChanged = scope !== null && scope !== scopeNow;
  const reason = doubtAbout(undecided.length, population, settings, scopeChanged);
  const due = absent.filter(
    ({ id, missingForMs }) =>
      (reason === null || approved.has(id)) &&
      missingForMs !== undefined &&
      missingForMs >= settings.confirmAfterMs,
  );
  const withheld =
    reason === null ? null : { hash: absenceHash(resource, undecided), reason, ids: undecided };
  return { due: due.map(({ id }) => id), withheld };
}
