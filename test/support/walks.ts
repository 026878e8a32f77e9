/** The way of one user through the code, function by function. `docs/walks.md` is written from this. */

/** A function on the way: its file under src, its name there, and what becomes of the user. */
export type Stop = readonly [file: string, name: string, does: string];

export interface Walk {
  readonly title: string;
  readonly story: string;
  readonly stops: readonly Stop[];
}

/** From a run that begins to the room where the two sides are compared. */
const intoTheRun: readonly Stop[] = [
  ['runs/reconcile-team.ts', 'runReconcile', 'a run both ways'],
  ['runs/with-run.ts', 'withRun', 'takes the lease: nobody else runs for the team'],
  ['runs/with-run.ts', 'runUnderLease', 'record, service, team; closes the record however it ends'],
  ['runs/open-service.ts', 'createService', 'the service, with the credentials of the team'],
  ['service/client.ts', 'createClient', 'the endpoints over one caller'],
  ['reconcile/reconcile.ts', 'reconcile', 'users, listings, counts'],
  ['reconcile/reconcile.ts', 'reconcileUsers', 'settles what is open, plans, pulls, pushes'],
];

/** From the call that asks for users to `ServiceUser`s. */
const answered: readonly Stop[] = [
  ['service/call.ts', 'createCall', 'in turn, and again where that is safe'],
  ['service/call.ts', 'attempt', 'its place in the rate, its token'],
  ['service/http.ts', 'createHttp', 'reads alone, where the client may not write'],
  ['service/http.ts', 'transfer', 'bytes out, bytes in'],
  ['service/answer.ts', 'readAnswer', 'an outcome: answer, refusal or failure'],
  ['service/parse-json.ts', 'readJson', 'JSON with whole numbers as they are'],
];

const merged: readonly Stop[] = [
  [
    'mirror/users-compare.ts',
    'compareShownUsers',
    'compared in SQL with mirror and base; who is equal is left out',
  ],
  ['mirror/users-read.ts', 'toState', 'a `UserState`: three versions, holds, what is under way'],
  ['reconcile/merge/plan-user.ts', 'planUser', 'a decision for each field'],
  ['reconcile/merge/user-case.ts', 'caseOf', 'who has the user'],
  ['reconcile/merge/user-case.ts', 'decideUserCase', 'both sides have the user: *merge*'],
  ['reconcile/merge/plan-user.ts', 'decideMerge', 'field by field'],
  ['reconcile/merge/plan-field.ts', 'planField', 'holds, policy, what can be sent'],
  ['reconcile/merge/merge-field.ts', 'mergeField', 'edited, moved, agree'],
  ['reconcile/merge/merge-field.ts', 'decide', 'the table'],
];
const writtenAfter = (asks: string): readonly Stop[] => [
  ['reconcile/merge/service-values.ts', 'writeOf', 'mirror and base as they are to be, both or neither'],
  ['reconcile/plan-users.ts', asks, 'what the guard has to know'],
  ['reconcile/guard/guard.ts', 'guard', 'what no run does without a person'],
];

export const walks: readonly Walk[] = [
  {
    title: 'A user is pulled',
    story:
      'Somebody changes a phone number in the web app; `musterd reconcile` brings it into `mirror.users`.',
    stops: [
      ['commands/command-line.ts', 'runCommandLine', 'the arguments become a command'],
      ['commands/program.ts', 'createProgram', 'the command of this name'],
      ['commands/command-line.ts', 'carryOut', 'whatever becomes of it: words and an exit code'],
      ['commands/reconcile.ts', 'reconcileCommand', 'one run for each team'],
      ['commands/setup.ts', 'withMirrorOf', 'settings, log, database'],
      ...intoTheRun,
      ['reconcile/plan-users.ts', 'planUsers', 'everybody, or nobody'],
      ['reconcile/read/roster.ts', 'readRoster', 'all at once, then by address'],
      ['reconcile/read/roster.ts', 'askForAll', 'one call'],
      ['service/roster-endpoints.ts', 'createRosterEndpoints', '`users`: path and body of the call'],
      ...answered,
      ['service/wire-user.ts', 'decodeMemberships', 'the rows of the answer'],
      ['service/wire-lists.ts', 'decodePage', 'rows that cannot be taken are set aside'],
      ['service/wire-user.ts', 'decodeUser', 'a `ServiceUser`'],
      ['reconcile/read/roster.ts', 'createTaking', 'of this team'],
      ...merged,
      ...writtenAfter('reviewPlans'),
      ['reconcile/apply-users.ts', 'applyPulls', 'some thousands to a transaction'],
      ['mirror/mirror.ts', 'createMirror', '`applyUsers`: a write of this run'],
      ['mirror/lease.ts', 'fenced', 'the lease is still ours, in the same transaction'],
      ['mirror/users-write.ts', 'applyUsers', 'skips who was edited since'],
      ['mirror/users-write.ts', 'applyDecisions', 'row, ledger, ends of holds'],
      ['mirror/user-rows.ts', 'writeUsers', 'the row'],
    ],
  },
  {
    title: 'A user is pushed',
    story:
      "Somebody runs `update mirror.users set first_name = 'Robin' where id = 41000001` while the daemon is at work. The triggers `mirror.check_user_edit` and `mirror.tell_of_edits` let it in and tell of it.",
    stops: [
      ['daemon/serve.ts', 'serve', 'one ear for all teams'],
      ['mirror/listen.ts', 'createListener', 'hears of it'],
      ['daemon/serve.ts', 'followEdits', 'which team'],
      ['daemon/loop.ts', 'createLoop', 'offers the team to the queue'],
      ['daemon/edited-teams.ts', 'createEditedTeams', 'when to look'],
      ['daemon/run-due.ts', 'workOn', 'nothing else is due: a run of the edits'],
      ['daemon/serve.ts', 'createRun', 'what a failure means for the daemon'],
      ...intoTheRun,
      ['reconcile/plan-edited.ts', 'planEdited', 'the edited users, as the service shows them'],
      ['mirror/users-compare.ts', 'readDifferingUsers', 'these users alone'],
      ...merged,
      ['model/unsendable.ts', 'unsendable', 'nothing is against it: *push*'],
      ...writtenAfter('readKnown'),
      ['reconcile/push/push.ts', 'pushEdits', 'four batches at a time'],
      ['reconcile/push/push.ts', 'sendBatches', 'again where one was put off before it had any effect'],
      ['reconcile/push/prepare.ts', 'prepare', 'read again, merged again'],
      ['reconcile/read/roster.ts', 'readBack', 'the users by their addresses'],
      ['reconcile/guard/planned-push.ts', 'onlyGuarded', 'nothing but what the guard saw'],
      ['reconcile/push/carry-name.ts', 'nameAlong', 'the name goes along where it would be lost'],
      ['mirror/intents.ts', 'openIntents', 'written down before it is sent'],
      ['reconcile/push/send.ts', 'sendIntents', 'what becomes of the request as a whole'],
      ['reconcile/push/request.ts', 'sendRequest', 'one request'],
      ['reconcile/push/send-guard.ts', 'guardSend', 'the lease, the deadline, right before it leaves'],
      ['service/roster-endpoints.ts', 'createRosterEndpoints', '`updateUsers`: path and body of the call'],
      ['service/wire-user.ts', 'encodeUserPatch', 'both names, always'],
      ...answered,
      ['reconcile/push/request.ts', 'judgeAnswer', 'what the answer says'],
      ['reconcile/push/outcome.ts', 'judge', '*confirmed*, field by field'],
      ['reconcile/push/record.ts', 'record', 'the result is written down'],
      ['reconcile/push/result.ts', 'resultOf', 'values to take, fields to hold'],
      ['mirror/mirror.ts', 'createMirror', '`applyResults`: a write of this run'],
      ['mirror/lease.ts', 'fenced', 'the lease is still ours'],
      ['mirror/apply-results.ts', 'applyResults', 'the base is what the service has'],
    ],
  },
];
