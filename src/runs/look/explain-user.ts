/** Explains the state of a user: its three versions, what a run would decide, and what the run would send. */
import { systemClock } from '../../clock.ts';
import { type LastEdit, type OpenPush, readLastEdit, readOpenPush } from '../../mirror/users/explain-read.ts';
import { type HeldRow, readHeldFields } from '../../mirror/users/held.ts';
import { findUsers } from '../../mirror/users/find-user.ts';
import { type LedgerRow, readLedger } from '../../mirror/users/ledger.ts';
import { readPlacing } from '../../mirror/team/known-place.ts';
import { readTeamId } from '../../mirror/team/pinned-teams.ts';
import { readUserState } from '../../mirror/users/users-read.ts';
import { showTime } from '../../model/zone-time.ts';
import type { Id } from '../../model/id.ts';
import type { FieldOutcomes, Intent } from '../../model/intent.ts';
import type { Placing } from '../../model/place.ts';
import type { ServiceUser } from '../../model/user.ts';
import type { UserCase } from '../../model/user-plan.ts';
import { readUserQuery } from '../../mirror/users/user-query.ts';
import type { UserState } from '../../model/user-state.ts';
import { planUser } from '../../reconcile/merge/plan-user.ts';
import { judgeLate } from '../../reconcile/push/outcome.ts';
import { neverLeft } from '../../reconcile/push/result.ts';
import { askService, type ServiceAnswer } from '../ask-service.ts';
import { adviceFor, explainFields, type FieldExplanation } from './explain-fields.ts';
import { requireSchema, type Setup } from '../open.ts';
import { sayDecideEach } from '../decide/say-seen.ts';
import { policyOf } from '../sync/reconcile-team.ts';
import { nobodyAnswers, theOnly } from '../named-user.ts';

/** The number of changes of the ledger that are shown. */
const shownMoves = 10;

/** Everything known about one user, and what follows from it. */
export interface Explanation {
  readonly id: Id;
  readonly state: UserState;
  /** `null` if the row was never edited in the mirror. */
  readonly edit: LastEdit | null;
  readonly answer: ServiceAnswer;
  readonly case: UserCase | null;
  /** The server and database of the mirror, compared with the recorded ones. A copy sends nothing. */
  readonly placing: Placing;
  readonly fields: readonly FieldExplanation[];
  readonly held: readonly HeldRow[];
  /** The commands that decide about the held fields. They contain the present values. */
  readonly commands: readonly string[];
  readonly openPush: OpenPush | null;
  /** The outcome that a run would find now for the open push; `null` if no push is open. */
  readonly openOutcomes: FieldOutcomes | null;
  readonly moves: readonly LedgerRow[];
  readonly next: string;
}

/** @throws MusterdError `usage` if no user or several match; the service's error if the user is not in the mirror */
export async function explainUser(setup: Setup, signal: AbortSignal, userText: string): Promise<Explanation> {
  const { db } = setup.mirror;
  await requireSchema(db);
  const query = readUserQuery(userText);
  const pinned = await readTeamId(db.kysely, setup.config.team);
  const found = pinned === null ? [] : await findUsers(db.kysely, pinned, query);
  const knownId = theOnly(userText, found)?.id;
  const answer = await askService(setup, signal, { typed: userText, query, known: knownId });
  // If the login is not allowed to ask the service (`denied`), the explanation uses the mirror alone.
  const isSilent = !answer.reached && answer.error.code !== 'denied';
  if (isSilent && (knownId === undefined || pinned === null)) throw answer.error;
  const id = knownId ?? (answer.reached ? answer.id : undefined);
  const teamId = answer.reached ? answer.teamId : pinned;
  if (id === undefined || teamId === null) throw nobodyAnswers(userText, found);
  return explain(setup, teamId, id, answer);
}

/** Reads all three versions of one user: base, mirror and service. */
async function readState({ mirror }: Setup, teamId: Id, id: Id, answer: ServiceAnswer): Promise<UserState> {
  const { kysely } = mirror.db;
  const state = await readUserState(kysely, teamId, id);
  if (!answer.reached || answer.service === undefined) return state;
  return answer.state ?? { ...state, service: answer.service };
}

/** Predicts what the next run will find out about a push with an unknown outcome. */
function outcomesOf(intent: Intent, service: ServiceUser | null, quietPeriodMs: number): FieldOutcomes {
  if (!intent.hasLeft) return neverLeft(intent).outcomes;
  return judgeLate(intent.sent, intent.before, service, intent.ageMs >= quietPeriodMs);
}

async function explain(setup: Setup, teamId: Id, id: Id, answer: ServiceAnswer): Promise<Explanation> {
  const { config, mirror } = setup;
  const { kysely } = mirror.db;
  const state = await readState(setup, teamId, id, answer);
  const policy = policyOf(config);
  const plan = answer.reached ? planUser(state, answer.member, policy) : undefined;
  const held = await readHeldFields(kysely, teamId, { userId: id });
  const openPush = await readOpenPush(kysely, teamId, id);
  const all = { userId: id, runId: null, field: null, kind: null, outcome: null, since: null };
  const moves = await readLedger(kysely, teamId, { ...all, limit: shownMoves });
  const { quietPeriodMs } = config.push;
  const openOutcomes =
    openPush === null || !answer.reached
      ? null
      : outcomesOf(openPush.intent, answer.service ?? null, quietPeriodMs);
  const next = adviceFor({
    plan,
    state,
    open: openOutcomes,
    quietUntil: showTime(
      openPush === null ? null : new Date(systemClock.now() + quietPeriodMs - openPush.intent.ageMs),
    ),
    held,
    absenceMs: config.absence.confirmAfterMs,
  });
  const fields = explainFields(state, plan, policy);
  const edit = await readLastEdit(kysely, teamId, id);
  const userCase = plan?.case ?? null;
  return {
    id,
    state,
    edit,
    answer,
    case: userCase,
    placing: await readPlacing(mirror.db),
    fields,
    held,
    commands: sayDecideEach(held),
    openPush,
    openOutcomes,
    moves,
    next,
  };
}
