/** The frame of every run: lease, service, record and notes. The caller passes the work. */
import { systemClock } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import type { Log } from '../../log.ts';
import { learnedOfCredentials } from '../../mirror/team/credentials.ts';
import type { Database } from '../../mirror/db/database.ts';
import { isSameTeam, type KnownTeam, newsOf, readKnownTeam } from '../../mirror/team/known-team.ts';
import type { Learned } from '../../mirror/team/learned.ts';
import { notePlace, notHome, placingOf, requireHome } from '../../mirror/team/known-place.ts';
import { fenced, takeLeaseFor } from '../../mirror/team/lease.ts';
import { createMirror, createMirrorReader } from '../../mirror/mirror.ts';
import { agreesWithBase } from '../../mirror/users/users-compare.ts';
import { checkTeam, pinTeam, writeTeam } from '../../mirror/team/pinned-teams.ts';
import { beginRun, noteTeam } from '../../mirror/runs/runs.ts';
import { adviceOn, placeInWords, type SendBlock, sendBlockOf } from '../../model/place.ts';
import type { RunGroup } from '../../model/run-group.ts';
import type { AnswerDigests, UsersAnswer } from '../../model/service-request.ts';
import type { Team } from '../../model/team.ts';
import type { WritingContext } from '../../reconcile/apply-users.ts';
import type { RunContext } from '../../reconcile/plan-users.ts';
import { createRunNotes, type RunEvent, type RunNotes } from '../../reconcile/run-notes.ts';
import type { ServiceClient } from '../../service/client.ts';
import type { Connections } from '../../service/connections.ts';
import type { ServiceEvent } from '../../service/event.ts';
import { learnedOfAgreed, readAgreed } from './unchanged.ts';
import { logRunEvent } from '../log-events.ts';
import { keepSettings } from '../keep-settings.ts';
import { requireSchema } from '../open.ts';
import { createService, credentialUses, requireService, sharePace } from '../open-service.ts';
import { type BegunRun, createRecord, type RunReport } from './run-record.ts';

export type { LeasedTeam } from '../../mirror/team/lease-holder.ts';

export interface Watch {
  readonly log: Log;
  /** Progress of the run, for a terminal. */
  readonly onEvent?: (event: RunEvent) => void;
  /** Aborted when the process is asked to stop. */
  readonly signal?: AbortSignal;
  /** How long to wait for another run of the team to end, in ms. By default, the run does not wait. */
  readonly waitMs?: number;
  /** Called once with the holder that the run waits for. */
  readonly onWait?: (holder: string) => void;
  /** Called when the run has been recorded as begun. From then on, its end is recorded in any case. */
  readonly onBegun?: () => void;
  /** Called for each request, retry and pause. */
  readonly onServiceEvent?: (event: ServiceEvent) => void;
  /** Remembers the team, so that runs that only push edits do not read it each time. */
  readonly teamMemory?: TeamMemory;
  /** Connections to the service that other runs use as well. */
  readonly connections?: Connections;
}

export interface TeamMemory {
  /** @returns `undefined` if the team was read too long ago */
  recall(): Team | undefined;
  /** @param readAtMs when the service was asked, by the monotonic clock */
  keep(team: Team, readAtMs: number): void;
}

export interface RunKind {
  readonly config: Config;
  readonly command: 'reconcile' | 'daemon' | 'resync';
  readonly groups: readonly RunGroup[];
  /** The settings that affect the merge, if the run compares all users. */
  readonly settings?: unknown;
}

/** True for a resync, which a person orders. It sends nothing, and in a copy it must fail. */
const isDecision = ({ command }: RunKind): boolean => command === 'resync';

type RunWork<Result> = (context: WritingContext, team: Team) => Promise<Result>;

function createLoggedNotes(log: Log, onEvent: Watch['onEvent']): RunNotes {
  return createRunNotes((event) => {
    logRunEvent(log, event);
    onEvent?.(event);
  });
}

/**
 * If nothing can be sent, warns once, with the reason.
 * @returns the reason as a word, or `undefined` if the run can send
 * @throws MusterdError `copy` if a person ordered the run
 */
async function noteSendBlock(
  db: Database,
  kind: RunKind,
  known: KnownTeam,
  notes: RunNotes,
): Promise<SendBlock | undefined> {
  const placing = await notePlace(db, placingOf(known.place, db));
  const sendBlock = sendBlockOf(placing);
  if (sendBlock === undefined) return undefined;
  if (isDecision(kind)) throw notHome(placing);
  notes.warn(`${placeInWords(placing)}. ${adviceOn(placing)}`);
  return sendBlock;
}

/**
 * One run that can write, under the team's lease. Its end is recorded even if it fails. If the mirror is not at its
 * recorded place, it reads and plans as usual, but its client refuses to write.
 * @throws the error that ended it early, after recording it; MusterdError `lease-held`, without a record
 */
export async function withRun<Result>(
  db: Database,
  kind: RunKind,
  watch: Watch,
  work: RunWork<Result>,
): Promise<{ readonly report: RunReport; readonly result: Result }> {
  const { config } = kind;
  const log = watch.log.child({ team: config.team });
  await requireService(config, log, watch.connections);
  const { waitMs = 0, signal, onWait } = watch;
  if (isDecision(kind)) await requireHome(db);
  const { lease, result: begun } = await takeLeaseFor(
    db,
    config.team,
    { ttlMs: config.lease.ttlMs, waitMs, signal, onWait },
    (tx) => beginRun(tx, config.team, kind.command, kind.groups),
  ).catch((error: unknown) => {
    log.warn({ err: error }, 'run not started');
    throw error;
  });
  try {
    return await runUnderLease(db, { ...begun, lease }, kind, { ...watch, log }, work);
  } finally {
    // The record usually releases the lease. If both fail, it expires; on this host a dead holder is noticed at once.
    await lease.release().catch((error: unknown) => log.warn({ err: error }, 'lease not given back'));
  }
}

/** The answers that a run has read before its work begins. */
interface Seen {
  readonly team: Team;
  readonly everybody: (() => Promise<UsersAnswer | null>) | undefined;
  /** The digests of the answers about the team and about all users. */
  readonly digests: () => AnswerDigests | null;
  /** The number of users, if the answers have not changed since they agreed with the mirror. */
  readonly unchanged: number | undefined;
}

const onlyTeam = { everybody: undefined, digests: () => null, unchanged: undefined } as const;

/** Reads the team. If the run compares all users, and no open push has to be settled first, also reads all users. */
async function lookAt(
  db: Database,
  { groups, settings }: RunKind,
  known: KnownTeam,
  service: ServiceClient,
): Promise<Seen> {
  if (settings === undefined || !groups.includes('users') || known.hasIntents)
    return { ...onlyTeam, team: await service.team() };
  const agreed = readAgreed(db, known, settings);
  const answer = await service.whole(agreed?.answers ?? null);
  if (answer !== null) return { ...onlyTeam, ...answer };
  const { name = null, listSize = null } = known.team ?? {};
  const team = { id: known.teamId ?? 0n, name, listSize, members: [], rejected: [], raw: {} };
  return { ...onlyTeam, team, unchanged: agreed?.shown ?? 0 };
}

async function runUnderLease<Result>(
  db: Database,
  begun: BegunRun,
  kind: RunKind,
  watch: Watch,
  work: RunWork<Result>,
): Promise<{ readonly report: RunReport; readonly result: Result }> {
  const { config, groups } = kind;
  const { lease, runId, known } = begun;
  watch.onBegun?.();
  const log = watch.log.child({ run: String(runId) });
  const notes = createLoggedNotes(log, watch.onEvent);
  let service: ServiceClient | undefined;
  let mirror: ReturnType<typeof createMirror> | undefined;
  let seen: Seen | undefined;
  let agreed: { readonly shown: number; readonly base: string } | undefined;
  const learnedHere = () => {
    const digests = seen?.digests() ?? null;
    const isClean = notes.reasons.length === 0 && notes.refusal === null;
    return digests === null || agreed === undefined || !isClean
      ? []
      : [learnedOfAgreed(digests, agreed, kind.settings)];
  };
  const learnedNow = () => [...learnedOf(config, service), ...learnedHere()];
  const learned = () => [...newsOf(known, learnedNow()), ...(mirror?.learned() ?? [])];
  const record = createRecord({ config, begun, groups, log, notes, learned });
  try {
    const sendBlock = await noteSendBlock(db, kind, known, notes);
    const maySend = sendBlock === undefined && !isDecision(kind);
    service = createService(config, maySend ? 'read-write' : 'read-only', {
      signal: watch.signal,
      connections: watch.connections,
      pace: sharePace(db, config),
      onServiceEvent: (event) => {
        record.onServiceEvent(event);
        watch.onServiceEvent?.(event);
      },
      log,
    });
    log.info({ groups }, 'run started');
    const recalled = groups.every((group) => group === 'edits') ? watch.teamMemory?.recall() : undefined;
    const readAtMs = systemClock.monotonicMs();
    seen = recalled === undefined ? await lookAt(db, kind, known, service) : { ...onlyTeam, team: recalled };
    const { team } = seen;
    const { id } = team;
    if (known.teamId !== id) {
      await pinTeam(db, config.team, id);
      await noteTeam(db, runId, id);
    }
    await keepSettings(db, kind, known);
    if (recalled === undefined && seen.unchanged === undefined) {
      watch.teamMemory?.keep(team, readAtMs);
      if (!isSameTeam(known, team)) await fenced(db, lease, (tx) => writeTeam(tx, team));
    }
    mirror = createMirror(db, lease, id, runId, known);
    let shownAll: number | undefined;
    const monotonicMs = () => systemClock.monotonicMs();
    const places = {
      service,
      mirror,
      notes,
      monotonicMs,
      sendBlock,
      everybody: seen.everybody,
      unchanged: seen.unchanged,
      onAgreed: (shown: number) => {
        shownAll = shown;
      },
    };
    const result = await work(places, team);
    const base = shownAll === undefined ? null : await agreesWithBase(db.kysely, id);
    if (shownAll !== undefined && base !== null) agreed = { shown: shownAll, base };
    return {
      report: await record.end(team, seen.unchanged !== undefined && !groups.includes('edits'), sendBlock),
      result,
    };
  } catch (error) {
    await record.endEarly(error);
    throw error;
  } finally {
    await service?.close();
  }
}

/** The facts that the client has learned, to store them for later runs. */
function learnedOf(config: Config, service: ServiceClient | undefined): readonly Learned[] {
  if (service === undefined) return [];
  return learnedOfCredentials(credentialUses(config, service));
}

/**
 * Like `withRun`, without lease and record, for commands that only read. It cannot write on either side: the client
 * refuses writes, and the mirror has no writing methods. Its requests take places in the shared pace, like all requests.
 */
export async function withReading<Result>(
  db: Database,
  config: Config,
  watch: Watch,
  work: (context: RunContext & { readonly service: ServiceClient }, team: Team) => Promise<Result>,
): Promise<Result> {
  await requireService(config, watch.log);
  await requireSchema(db);
  const known = await readKnownTeam(db.kysely, config.team);
  const pace = sharePace(db, config);
  const service = createService(config, 'read-only', { ...watch, pace });
  try {
    const notes = createLoggedNotes(watch.log, watch.onEvent);
    const team = await service.team();
    if (known.teamId !== team.id) await checkTeam(db.kysely, config.team, team.id);
    const mirror = createMirrorReader(db, team.id, known);
    const placing = placingOf(known.place, db);
    const sendBlock = sendBlockOf(placing);
    if (sendBlock !== undefined) notes.warn(`${placeInWords(placing)}. ${adviceOn(placing)}`);
    return await work(
      { service, mirror, notes, sendBlock, monotonicMs: () => systemClock.monotonicMs() },
      team,
    );
  } finally {
    await service.close();
  }
}
