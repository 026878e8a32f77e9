// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are pieces of files.
/**
 * The guards of the algorithm, by name: a piece of a file, and what stands there without the guard. Each says what notices that
 * it is missing: the cheapest tier that does. `docs/reliability.md` has the table.
 */
import { sessionGuards } from '../stepper/guards.ts';

const invariants = 'test/simulation/invariants.ts';
/** What plays seeds, until one breaks a promise with `--stop`, and where its promises stand. */
export const players = {
  simulation: { script: 'test/simulation/run.ts', promises: [invariants] },
  stepper: { script: 'test/stepper/run.ts', promises: [invariants, 'test/stepper/promises.ts'] },
} as const;

/** What notices it. */
export type Watch =
  /** Random states of a user, and runs of the guard: the first so many thousands of states are enough, for this test. */
  | { readonly tier: 'specification'; readonly seeds: number; readonly by: string }
  /** What plays seeds: the first so many are enough, and the last of them breaks this promise. */
  | { readonly tier: keyof typeof players; readonly seeds: number; readonly by: string }
  /** A file of tests, on a real Postgres or on none, and the test in it. */
  | { readonly tier: 'test'; readonly file: string; readonly by: string };

export interface Guard {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  readonly watch: Watch;
}

export const specification = 'test/reconcile/specification.test.ts';

const byStates = (thousands: number): Watch => ({
  tier: 'specification',
  seeds: thousands,
  by: 'and musterd decide the same in many states of a user',
});
const byRuns = (thousands: number): Watch => ({
  tier: 'specification',
  seeds: thousands,
  by: 'and the guard stop the same in many runs',
});
const bySimulation = (seeds: number, by: string): Watch => ({ tier: 'simulation', seeds, by });
const byTest = (file: string, by: string): Watch => ({ tier: 'test', file: `test/${file}.test.ts`, by });

const guard = (name: string, file: string, find: string, replace: string, watch: Watch): Guard => ({
  name,
  file,
  find,
  replace,
  watch,
});

const userCase = 'src/reconcile/merge/user-case.ts';
const mergeField = 'src/reconcile/merge/merge-field.ts';
const planField = 'src/reconcile/merge/plan-field.ts';
const heldField = 'src/reconcile/merge/held-field.ts';
const planUser = 'src/reconcile/merge/plan-user.ts';
const limits = 'src/reconcile/guard/limits.ts';
const fieldLimits = 'src/reconcile/guard/field-limits.ts';
const guardFile = 'src/reconcile/guard/guard.ts';
const outcome = 'src/reconcile/push/outcome.ts';
const sendGuard = 'src/reconcile/push/send-guard.ts';
const prepare = 'src/reconcile/push/prepare.ts';
const missingRows = 'src/reconcile/missing-rows.ts';
const retry = 'src/service/retry.ts';
const intents = 'src/mirror/users/intents.ts';
const applyResults = 'src/mirror/users/apply-results.ts';
const holds = 'src/mirror/users/holds.ts';
const lease = 'src/mirror/team/lease.ts';
const retention = 'src/mirror/runs/retention.ts';
const sessions = 'migrations/repeatable/01_sessions.sql';
const people = 'migrations/repeatable/02_people.sql';
const edits = 'migrations/repeatable/03_edits.sql';
const decisions = 'migrations/repeatable/07_decisions.sql';

export const guards: readonly Guard[] = [
  // What a run decides about one user.
  guard(
    'an open intent comes first',
    userCase,
    "if (hasOpenIntent || stale === true) return 'waiting';",
    "if (stale === true) return 'waiting';",
    byStates(1),
  ),
  guard(
    'an older answer is not believed',
    userCase,
    "if (hasOpenIntent || stale === true) return 'waiting';",
    "if (hasOpenIntent) return 'waiting';",
    byStates(1),
  ),
  guard('conflicts are held', mergeField, "if (!moved) return 'push';", "return 'push';", byStates(1)),
  guard(
    'what the service does not show stays as it is',
    mergeField,
    "if (unreadOf(field, base, service) !== undefined) return 'unread';",
    '',
    byStates(1),
  ),
  guard(
    'a hold on request lasts',
    planField,
    'if (isAsked(hold)) return stillHeld(field, service);',
    '',
    byStates(1),
  ),
  guard(
    'an empty name replaces no full one',
    planField,
    "return field === 'name' && isEmptied(service, mirror) ? ['conflict', emptiedDetail] : undefined;",
    'return undefined;',
    byStates(1),
  ),
  guard(
    'half a guess is not sent',
    planField,
    "return detail === undefined ? undefined : ['unsupported', detail];",
    'return undefined;',
    byStates(1),
  ),
  guard(
    'a decision is about one edit',
    heldField,
    'isSameEdit(hold, known) && samePush(',
    'samePush(',
    byStates(1),
  ),
  guard(
    'a decision is about the values that were seen',
    heldField,
    ' && samePush(hold.field, hold, values)',
    '',
    byStates(100),
  ),
  guard(
    'an edit of whoever comes back waits',
    planUser,
    'if (mayBeEdited && !sameBytes(field, mirror, agreed)) {',
    'if (mayBeEdited && false) {',
    byStates(1),
  ),

  // What no run does without a person.
  guard('a run pushes to few', limits, 'today <= limit', 'true', byRuns(1)),
  guard(
    'a day pushes to few',
    limits,
    'new Set([...pushedToday, ...pushed]).size',
    'pushed.length',
    byRuns(10),
  ),
  guard(
    'few roles change at once',
    fieldLimits,
    'if (changes.length <= maxRoleChanges) return new Map();',
    'return new Map();',
    byRuns(1),
  ),
  guard(
    'two people do not get one address',
    fieldLimits,
    'having?.values().find((owner) => owner !== id)',
    'having?.values().find(() => false)',
    byRuns(10),
  ),
  guard('reviews', guardFile, '(isReviewed || ((isRefused', '(false || ((isRefused', byRuns(10)),
  guard('batches wait on', guardFile, 'isRefused || push.again.includes(field)', 'isRefused', byRuns(10)),
  guard(
    'an administrator is left',
    fieldLimits,
    'if (left.size > 0) return',
    'return',
    byTest('reconcile/guard', 'count a demotion that is on its way as done'),
  ),
  guard(
    'a resync gives up earlier decisions',
    'src/reconcile/merge/plan-resync.ts',
    ': hold.decision === undefined && isSameEdit',
    ': isSameEdit',
    byTest('reconcile/plan-resync', 'holds an edit of %s anew that a person let pass before'),
  ),

  // What is missing, and who is listed.
  guard(
    'nobody is gone at first sight',
    missingRows,
    'missingForMs !== undefined && missingForMs >= settings.confirmAfterMs',
    'true',
    byTest('reconcile/absence', 'waits until a row has been missing for long enough, by itself'),
  ),
  guard(
    'many missing rows wait',
    missingRows,
    'found.missing > limitOf(found)',
    'false',
    byTest('reconcile/absence', '%i of %i missing: %s'),
  ),
  guard(
    'rows missing under other settings wait',
    missingRows,
    'found.scopeChanged ?',
    'false ?',
    byTest(
      'reconcile/absence',
      'withholds whatever is missing after the settings have changed, were it one row',
    ),
  ),
  guard(
    'an address that is refused proves nobody gone',
    'src/reconcile/apply-users.ts',
    'all.filter(({ id }) => !roster.unproven.has(id))',
    'all',
    byTest('reconcile/user-absences', 'is gone when the service refuses an address of somebody else'),
  ),

  // How a push leaves.
  guard(
    'quiet period',
    outcome,
    "if (!quiet) return 'unknown';",
    '',
    bySimulation(7, 'what has moved was moved by others'),
  ),
  guard(
    'what is shown proves that it arrived',
    outcome,
    "if (outcome === 'confirmed' && isProof(field, sent, before, seen)) return 'confirmed';",
    "if (outcome === 'confirmed') return 'confirmed';",
    byTest('reconcile/push-outcome', 'says nothing of new halves of a name, whatever its bytes'),
  ),
  guard(
    'an older answer proves no push',
    'src/reconcile/push/record.ts',
    '.filter(([id]) => !older.has(id))',
    '',
    byTest('system/stale', 'prove no push, though they have the values of before, which are sent again'),
  ),
  guard(
    'time of sending',
    intents,
    'coalesce(c.sent_at, c.opened_at)',
    'c.opened_at',
    byTest('mirror/intents', 'has left when that is noted, of those users alone'),
  ),
  guard(
    'send deadline',
    sendGuard,
    'breaker.open || monotonicMs() > sendByMs',
    'breaker.open',
    bySimulation(18, 'a push leaves soon after the read'),
  ),
  guard(
    'a harmed name stops what is about to leave',
    sendGuard,
    'breaker.open || monotonicMs() > sendByMs',
    'monotonicMs() > sendByMs',
    byTest('reconcile/push', 'that have not left yet do not leave when another one harmed a name'),
  ),
  guard(
    'lease at the first byte',
    sendGuard,
    'mirror.requireLease();',
    '',
    byTest('reconcile/push', 'is not sent when the lease can have run out while the connection came about'),
  ),
  guard(
    'edit still there when it leaves',
    sendGuard,
    'if (over.length > 0)',
    'if (over.length > 99)',
    byTest('reconcile/push', 'nothing leaves of an edit that is taken back at that very moment'),
  ),
  guard(
    'the guard has seen it',
    prepare,
    'onlyGuarded(plan, seenByGuard)',
    'plan',
    byTest(
      'reconcile/push',
      'waits for the next run where the service moves before it leaves, and that is said',
    ),
  ),
  guard(
    'a void approval sends nothing of the user',
    prepare,
    'isVoid(plan, state, places) ?',
    'false ?',
    byTest('reconcile/push', 'nothing is sent of a user of whom an approval has become void: %s'),
  ),
  guard(
    'read again before a push',
    prepare,
    'const youngMs = 1_000;',
    'const youngMs = 1e9;',
    byTest('reconcile/push', 'is not read again before it is sent where the plan read it %s'),
  ),
  guard(
    'a name is known before it goes along',
    'src/reconcile/push/carry-name.ts',
    "if (state === undefined || !isNameless(pushOf(plan)) || safety !== 'clears') return plan;",
    'return plan;',
    byTest('reconcile/push', 'takes the name along where it is known to be cleared'),
  ),
  guard(
    'old and new addresses are asked for',
    'src/reconcile/push/record.ts',
    'sent[field],',
    '',
    byTest('reconcile/push', 'and that is seen by a lookup of the new address is confirmed at once'),
  ),
  guard(
    'the users of a refused request are read again',
    'src/reconcile/push/push.ts',
    'const again = { ...places, fresh: null };',
    'const again = places;',
    byTest(
      'reconcile/push',
      'reads the user again before each of them, however young the read of the plan is',
    ),
  ),
  guard(
    'a value that is refused is not sent for ever',
    'src/reconcile/push/result.ts',
    "return hold('refused', sayRefusal(answered));",
    'return undefined;',
    byTest(
      'reconcile/push',
      'is sent user by user and field by field, so that the one bad value is held and everything else goes through',
    ),
  ),
  guard(
    'a copy gives up no push',
    'src/reconcile/push/settle-intents.ts',
    'sendBlock === undefined ? answers : answers.filter(isConfirmed)',
    'answers',
    byTest('reconcile/push', 'a push of before stays open, however old it is (had it left: %s)'),
  ),
  guard(
    'a copy does not say what never left',
    'src/reconcile/push/settle-intents.ts',
    'intent.hasLeft || sendBlock !== undefined',
    'intent.hasLeft',
    byTest('reconcile/push', 'a push of before stays open, however old it is (had it left: %s)'),
  ),
  guard(
    'a copy sends nothing',
    'src/reconcile/push/push.ts',
    'places.sendBlock !== undefined || ',
    '',
    byTest('reconcile/push', 'no edit leaves, nor is it written down'),
  ),

  // What a request may do.
  guard(
    'a write that left is not repeated',
    retry,
    "(effect === 'read' || outcome.phase === 'not-sent')",
    'true',
    byTest('service/retry', '${reason}, ${phase}'),
  ),
  guard(
    'a write is not repeated after a 500',
    retry,
    "return effect === 'read' && outcome.status >= 500;",
    'return outcome.status >= 500;',
    byTest('service/retry', '%i: reads again, writes not'),
  ),
  guard(
    'a write is not repeated after a 429',
    retry,
    "if (effect === 'write' || tries.throttles",
    'if (tries.throttles',
    byTest('service/retry', '429: reads again; a write would be old by the end of the pause'),
  ),
  guard(
    'an unknown operation counts as a write',
    'src/service/operation.ts',
    "effect: method === 'GET' ? 'read' : 'write'",
    "effect: 'read'",
    byTest('service/client', 'what the interface does not list is a write, unless it is a GET'),
  ),
  guard(
    'who only reads writes nothing',
    'src/service/http.ts',
    "if (mode === 'read-only' && operation.effect === 'write') throw refuseWrite(operation);",
    '',
    byTest('service/client', '%s: a client that only reads sends no write'),
  ),
  guard(
    'a token is used for four minutes',
    'src/service/token.ts',
    'clock.monotonicMs() - old.monotonicMs < reuseMs &&',
    '',
    byTest('service/token', 'is no longer used though the wall clock was set back meanwhile'),
  ),
  guard(
    'at most so many requests a minute',
    'src/service/rate-limiter.ts',
    'nextAt = Math.max(nextAt, now) + count * periodMs;',
    'nextAt = now;',
    byTest('service/rate-limiter', 'never above the limit in any 60 s, and 95 %% of it used (seed %i)'),
  ),

  // What is written here.
  guard(
    'pulls compare the mirror',
    'src/mirror/users/user-rows.ts',
    "and (m.name_split, ${valuesOf('m')}) is not distinct from (s.was_split, ${valuesOf('s', 'was_')})",
    '',
    byTest('mirror/users-write', 'since %s was edited is left as it is'),
  ),
  guard(
    'results keep a later value',
    applyResults,
    'and ${isSent} then',
    'then',
    byTest('mirror/intents', 'stays in the mirror as it was edited while the request was on its way: %s'),
  ),
  guard(
    'the base moves on confirmation alone',
    applyResults,
    ': took(field)} then ${sql.ref(`s.${column}`)} else ${sql.ref(`b.${column}`)}',
    ': sql`true`} then ${sql.ref(`s.${column}`)} else ${sql.ref(`b.${column}`)}',
    byTest('mirror/intents', 'is that field and no other: %s'),
  ),
  guard(
    'an older answer ends no conflict',
    'src/mirror/users/users-compare.ts',
    '(${serviceMoved} or h.held is not null)',
    '${serviceMoved}',
    byTest('system/stale', 'end no conflict, though they have the values that were agreed on'),
  ),
  guard(
    'an older answer moves no version',
    applyResults,
    's.is_known and not ${isOlder(sql`m`)} and',
    's.is_known and',
    byTest('mirror/intents', 'is not taken over newer times: %s'),
  ),
  guard(
    'intents of what the mirror has',
    intents,
    "and s.sent <@ ${objectOf('u')}",
    '',
    byTest('mirror/intents', 'is left out where the mirror has another value by now: %s'),
  ),
  guard(
    'intents of the planned edit',
    intents,
    'and m.is_free and s.id',
    'and s.id',
    byTest('mirror/intents', 'is the edit that was planned, and not another one of the same value'),
  ),
  guard(
    'no intent of whoever has left',
    intents,
    'where u.gone_at is null and m.is_free',
    'where m.is_free',
    byTest('mirror/intents', 'is left out where the user %s'),
  ),
  guard(
    'one open intent for each user',
    intents,
    "on conflict (team_id, user_id) where state = 'open' do nothing",
    '',
    byTest('mirror/intents', 'is left out where a push of that user is open already, in this team alone'),
  ),
  guard(
    'what somebody is editing does not leave',
    intents,
    'and s.id <> all (array(select b.id from busy b))',
    '',
    byTest('mirror/intents', 'is left out, and its user is named, where an open transaction %s them'),
  ),
  guard(
    'what was rejected meanwhile does not leave',
    intents,
    'or s.field is not null and coalesce(',
    'or false and coalesce(',
    byTest('mirror/intents', 'does not leave where somebody rejected meanwhile what was approved'),
  ),
  guard(
    'a decision is spent once',
    holds,
    "update sync.held_fields h set decision = 'spent' from",
    "update sync.held_fields h set decision = 'approved' from",
    byTest('mirror/intents', 'spends what a person decided about its edit, and about no other'),
  ),
  guard(
    'a decision made during a run stays',
    holds,
    'sql`true` : sql`not ${isDecidedSince(runId)}`',
    'sql`true` : sql`true`',
    byTest('mirror/users-write', 'stands as it was decided, though in the run it %s'),
  ),
  guard(
    'no hold takes the place of a rejection',
    holds,
    'and not coalesce(${isRejected}, false) and',
    'and',
    byTest('mirror/users-write', '%s until %s, and then %s of %s: the %s one stands'),
  ),
  guard(
    'one team under one name',
    'src/mirror/team/pinned-teams.ts',
    'if (other === undefined) return;',
    'return;',
    byTest('mirror/neighbours', 'pins a team to one name, and a name to one team'),
  ),

  // Who may run.
  guard(
    'a lease is taken where it is free',
    lease,
    '(${dead} or expires_at <= clock_timestamp())',
    'true',
    byTest('mirror/lease', 'is not taken over when its holder renewed it after it was found expired'),
  ),
  guard(
    'a lease is taken from whom it was found with',
    lease,
    'lease_id = ${found} and',
    '',
    byTest('mirror/lease', 'of a dead holder is not taken from the one who was faster'),
  ),
  guard(
    'an expired lease writes nothing',
    lease,
    '(${isLocked} or expires_at > clock_timestamp())',
    'true',
    byTest('mirror/lease', 'that ran out lets nothing be written, though nobody has taken it'),
  ),
  guard(
    'a transaction keeps its lease',
    lease,
    'for key share',
    '',
    byTest(
      'mirror/lease',
      'is held by two transactions of its run at once, and by nobody else as long as one of them lasts',
    ),
  ),
  guard(
    'a lease is given back by its holder',
    lease,
    ".where('lease_id', '=', leaseId).execute()",
    '.execute()',
    byTest(
      'mirror/lease',
      'is taken from a holder whose lease ran out, and that one can commit nothing any more',
    ),
  ),

  // What is kept.
  guard(
    'an open push is kept',
    retention,
    "b.state = 'closed' and b.opened_at",
    'b.opened_at',
    byTest('mirror/retention', 'of changes are tries before a push that was confirmed, and no open push'),
  ),
  guard(
    'the last move of a field is kept',
    retention,
    "and not (b.user_id is not null and (b.kind = 'push' or ${moves('b')}) and exists (",
    'and not (false and exists (',
    byTest('mirror/retention', 'is the same before and after'),
  ),
  guard(
    'who rejected an edit is kept',
    retention,
    "where h.team_id = ${teamId} and h.user_id = b.user_id and h.decision = 'rejected'",
    "where false and h.decision = 'rejected'",
    byTest('mirror/retention', 'of decisions is none that says who rejected an edit that is rejected still'),
  ),
  guard(
    'an edit that no push has seen is kept',
    retention,
    'and b.xid < coalesce(',
    "and '0'::xid8 < coalesce(",
    byTest('mirror/retention', 'of edits is none that waits, and none that the last push did not see'),
  ),

  // What triggers refuse and note.
  guard(
    'who says that it is musterd has to be',
    sessions,
    "and has_table_privilege('sync.user_base'::regclass, 'update')",
    '',
    byTest(
      'mirror/least-privilege',
      'nobody but the owner and a daemon is believed to be musterd, and nobody but the owner creates',
    ),
  ),
  guard(
    'the other columns are the service’s',
    edits,
    'if (new.team_id, new.id, new.name,',
    'if false and (new.team_id, new.id, new.name,',
    byTest('mirror/owner', 'is refused an update of users that sets %s'),
  ),
  guard(
    'an email is not emptied',
    edits,
    'if new.email is not null or not exists (',
    'if false and not exists (',
    byTest(
      'mirror/user-edits',
      'can be taken back where there was no email and no role before, and nothing else can be emptied',
    ),
  ),
  guard(
    'users are not deleted here',
    edits,
    'create or replace trigger refuse_insert_or_delete before insert or delete on mirror.users',
    'create or replace trigger refuse_insert_or_delete before insert on mirror.users',
    byTest('mirror/owner', 'is refused to %s'),
  ),
  guard(
    'what is taken back under way is an edit',
    edits,
    'would be called for each row\n        where c.team_id',
    'would be called for each row\n        where false and c.team_id',
    byTest('mirror/decided-edits', 'an edit that %s is answered for, whoever names it'),
  ),
  guard(
    'what was made past the triggers is nobody’s',
    edits,
    "then array[''] end as authors",
    'then null::text[] end as authors',
    byTest('mirror/lasting-edits', 'has part in what takes its place, though nobody had looked for it'),
  ),
  guard(
    'a team has so many addresses',
    edits,
    'offset most limit 1',
    'offset most + 1000000 limit 1',
    byTest('mirror/lookups', 'a team has a bounded number of them, and an error says so'),
  ),

  // Who sees, edits and decides.
  guard(
    'a role sees its teams',
    sessions,
    'using ((select mirror.sees_all_teams()) or %2$s)',
    'using (true or %2$s)',
    byTest('mirror/team-roles', '%s sees its team in every table and view'),
  ),
  guard(
    'a role sees its own listing',
    sessions,
    "using (role_name = 'public' or pg_has_role(to_regrole(quote_ident(role_name)), 'USAGE'))",
    'using (true)',
    byTest('mirror/team-roles', 'a role sees what is listed for it, and cannot list itself'),
  ),
  guard(
    'an editor sets no role',
    'migrations/repeatable/10_rights.sql',
    "array_to_string(array_remove(array[{columns 'COLUMN'}], 'role_id'), ', ')",
    "array_to_string(array[{columns 'COLUMN'}], ', ')",
    byTest('mirror/least-privilege', '%s may do what was decided with each table and view'),
  ),
  guard(
    'only approvers decide',
    people,
    "if not anybody and not coalesce(pg_has_role(session_user, to_regrole('musterd_approver')::oid, 'USAGE'), false)",
    'if false',
    byTest('mirror/waiting', 'is not to be had through a function of an approver'),
  ),
  guard(
    'a trigger decides nothing',
    people,
    "if pg_trigger_depth() > 0 then\n    raise exception 'A trigger decides nothing'",
    "if false then\n    raise exception 'A trigger decides nothing'",
    byTest('mirror/waiting', 'is nothing that a trigger of a stranger does in the name of an approver'),
  ),
  guard(
    'who decides sees what is sent',
    people,
    "if current_setting('transaction_isolation') <> 'read committed' then",
    'if false then',
    byTest('mirror/where-decided', 'in a transaction of isolation level %s is answered so'),
  ),
  guard(
    'in a copy nothing is decided',
    people,
    "if found #>> '{place,kind}' = 'copy' then",
    'if false then',
    byTest('mirror/where-decided', '%s is answered so'),
  ),
  guard(
    'at another place nothing is decided',
    people,
    "if found #>> '{place,kind}' is not null and (found",
    'if false and (found',
    byTest('mirror/where-decided', '%s is answered so'),
  ),
  guard(
    'four eyes',
    decisions,
    "and sync.is_own(case when x.edit_id is null then '{\"\"}' else l.authors end) then 'own'",
    "and false then 'own'",
    byTest(
      'mirror/approve-edits',
      'do not pass where whoever confirms them made them, or may have, and four eyes are asked for',
    ),
  ),
  guard(
    'an edit of nobody is not approved by an editor',
    people,
    "when '' = any (is_own.authors) and has_any_column_privilege(session_user, 'mirror.users', 'UPDATE') then true",
    '',
    byTest('mirror/authors', 'whoever decides'),
  ),
  guard(
    'a name that could be another’s approves nothing',
    people,
    'when session_user::text is distinct from sync.person(session_user::text) then true',
    '',
    byTest('mirror/authors', 'whoever decides'),
  ),
  guard(
    'approved over what was seen',
    decisions,
    "when decide_edits.verb = 'approve' and (v.base_value is distinct from s.base",
    'when false and (v.base_value is distinct from s.base',
    byTest('mirror/approve-edits', 'are not approved with %s'),
  ),
  guard(
    'another value was not decided about',
    decisions,
    "when v.mirror_value is distinct from s.mirror then 'moved'",
    '',
    byTest('mirror/decided-edits', 'an edit that %s is answered for, whoever names it'),
  ),
  guard(
    'what is on its way is not decided about',
    decisions,
    "when x.is_sent and (decide_edits.verb <> 'reject' or x.edit_id is not null) then 'on its way'",
    '',
    byTest('mirror/decided-edits', 'an edit that %s is answered for, whoever names it'),
  ),
  guard(
    'what is held on request is not decided about',
    decisions,
    "when h.until > clock_timestamp() then 'asked'",
    '',
    byTest('mirror/decided-edits', 'an edit that %s is answered for, whoever names it'),
  ),
  guard(
    'one place takes the place of what it was',
    'migrations/repeatable/05_place.sql',
    "where l.team = '' and l.topic = 'place' and l.value = was",
    "where l.team = '' and l.topic = 'place'",
    byTest('mirror/where-decided', 'one place takes the place of what is on record, and of nothing else'),
  ),

  // What only sessions side by side can show.
  ...sessionGuards,
];

/** When it is noticed that it is missing, and by what. */
function noticed({ watch }: Guard): readonly [string, string] {
  switch (watch.tier) {
    case 'specification':
      return [`${watch.seeds},000 states`, `\`${specification}\` › ${watch.by}`];
    case 'simulation':
    case 'stepper':
      return [`${watch.seeds} seeds`, `the ${watch.tier}: ${watch.by}`];
    case 'test':
      return ['by its test', `\`${watch.file}\` › ${watch.by}`];
    default:
      return watch satisfies never;
  }
}

/** One line for people: the guard, and what notices that it is missing. */
export const sayGuard = (guard: Guard): string => [guard.name, ...noticed(guard)].join(' | ');

/** The rows of the table in `docs/reliability.md`. */
export function guardTable(): string {
  const rows = guards.map((guard) => [guard.name, `\`${guard.file}\``, ...noticed(guard)].join(' | '));
  return ['|---|---|---|---|', ...rows.map((row) => `| ${row} |`)].join('\n');
}
