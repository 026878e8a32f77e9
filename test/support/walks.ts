/** The way of one user through the code, function by function. `docs/walks.md` is written from this. */

/** A function on the way: its file under src, its name there, and what it does. */
export type Stop = readonly [file: string, name: string, does: string];

export interface Walk {
  readonly title: string;
  readonly story: string;
  readonly stops: readonly Stop[];
}

/** From a run that begins to the room where the two sides are compared. */
const intoTheRun: readonly Stop[] = [
  ['runs/reconcile-team.ts', 'runReconcile', 'starts a run in both directions'],
  ['runs/with-run.ts', 'withRun', 'takes the lease: no other run of the team is possible'],
  [
    'runs/with-run.ts',
    'runUnderLease',
    'opens record, service and team; closes the record however the run ends',
  ],
  ['runs/open-service.ts', 'createService', 'creates a client with the credentials of the team'],
  ['service/client.ts', 'createClient', 'puts the endpoints over one caller'],
  ['reconcile/reconcile.ts', 'reconcile', 'reconciles users, listings, counts'],
  ['reconcile/reconcile.ts', 'reconcileUsers', 'settles open pushes, plans, pulls, pushes'],
];

/** From the call that asks for users to `ServiceUser`s. */
const answered: readonly Stop[] = [
  ['service/call.ts', 'createCall', 'queues the request; repeats it where that is safe'],
  ['service/call.ts', 'attempt', 'waits for a place in the rate and a token'],
  ['service/http.ts', 'createHttp', 'refuses writes if the client may only read'],
  ['service/http.ts', 'transfer', 'sends and receives bytes'],
  ['service/answer.ts', 'readAnswer', 'judges the outcome: answer, refusal or failure'],
  ['service/parse-json.ts', 'readJson', 'parses JSON with exact integers'],
];

const merged: readonly Stop[] = [
  [
    'mirror/users-compare.ts',
    'compareShownUsers',
    'compares with mirror and base in SQL; leaves out users that are equal',
  ],
  ['mirror/users-read.ts', 'toState', 'makes a `UserState`: three versions, holds, open intents'],
  ['reconcile/merge/plan-user.ts', 'planUser', 'makes a decision for each field'],
  ['reconcile/merge/user-case.ts', 'caseOf', 'looks which sides have the user'],
  ['reconcile/merge/user-case.ts', 'decideUserCase', 'both sides have the user: *merge*'],
  ['reconcile/merge/plan-user.ts', 'decideMerge', 'goes through the fields'],
  ['reconcile/merge/plan-field.ts', 'planField', 'applies holds and policy, and checks what can be sent'],
  ['reconcile/merge/merge-field.ts', 'mergeField', 'compares: edited, moved, agree'],
  ['reconcile/merge/merge-field.ts', 'decide', 'looks the decision up in the table'],
];
const writtenAfter = (asks: string): readonly Stop[] => [
  ['reconcile/merge/service-values.ts', 'writeOf', 'assembles the new mirror and base, both or neither'],
  ['reconcile/plan-users.ts', asks, 'collects what the guard needs to know'],
  ['reconcile/guard/guard.ts', 'guard', 'stops what needs a person'],
];

export const walks: readonly Walk[] = [
  {
    title: 'A user is pulled',
    story:
      'Somebody changes a phone number in the web app; `musterd reconcile` brings it into `mirror.users`.',
    stops: [
      ['commands/command-line.ts', 'runCommandLine', 'parses the arguments'],
      ['commands/program.ts', 'createProgram', 'finds the command of this name'],
      ['commands/command-line.ts', 'carryOut', 'runs it; makes the messages and the exit code'],
      ['commands/reconcile.ts', 'reconcileCommand', 'starts one run for each team'],
      ['commands/setup.ts', 'withMirrorOf', 'opens settings, log, database'],
      ...intoTheRun,
      ['reconcile/plan-users.ts', 'planUsers', 'plans all users, or none'],
      ['reconcile/read/roster.ts', 'readRoster', 'reads all in one request, then by address'],
      ['reconcile/read/ask.ts', 'askForAll', 'makes one call'],
      ['service/roster-endpoints.ts', 'createRosterEndpoints', '`users`: path and body of the call'],
      ...answered,
      ['service/wire-user.ts', 'decodeMemberships', 'decodes the rows of the answer'],
      ['service/wire-lists.ts', 'decodePage', 'sets aside rows that cannot be read'],
      ['service/wire-user.ts', 'decodeUser', 'makes a `ServiceUser`'],
      ['reconcile/read/roster.ts', 'createTaking', 'keeps the users of this team'],
      ...merged,
      ...writtenAfter('reviewPlans'),
      ['reconcile/apply-users.ts', 'applyPulls', 'writes some thousands per transaction'],
      ['mirror/mirror.ts', 'createMirror', '`applyUsers`: a write of this run'],
      ['mirror/lease.ts', 'fenced', 'checks in the same transaction that the lease is still ours'],
      ['mirror/users-write.ts', 'applyUsers', 'skips users that were edited since'],
      ['mirror/users-write.ts', 'applyDecisions', 'writes row and ledger, ends holds'],
      ['mirror/user-rows.ts', 'writeUsers', 'writes the row'],
    ],
  },
  {
    title: 'A user is pushed',
    story:
      "Somebody runs `update mirror.users set first_name = 'Robin' where id = 41000001` while the daemon is running. The trigger `mirror.check_user_edit` accepts the edit, and `mirror.tell_of_edits` announces it.",
    stops: [
      ['daemon/serve.ts', 'serve', 'has one listener for all teams'],
      ['mirror/listen.ts', 'createListener', 'receives the notification'],
      ['daemon/serve.ts', 'followEdits', 'finds the team'],
      ['daemon/loop.ts', 'createLoop', 'offers the team to the queue'],
      ['daemon/edited-teams.ts', 'createEditedTeams', 'decides when to look'],
      ['daemon/run-due.ts', 'workOn', 'nothing else is due: starts a run of the edits'],
      ['daemon/serve.ts', 'createRun', 'decides what a failure means for the daemon'],
      ...intoTheRun,
      ['reconcile/plan-edited.ts', 'planEdited', 'looks the edited users up on the service'],
      ['mirror/users-compare.ts', 'readDifferingUsers', 'reads only these users'],
      ...merged,
      ['model/unsendable.ts', 'unsendable', 'finds no objection: *push*'],
      ...writtenAfter('readKnown'),
      ['reconcile/push/push.ts', 'pushEdits', 'sends four batches at a time'],
      ['reconcile/push/push.ts', 'sendBatches', 'repeats a batch that was put off before it had any effect'],
      ['reconcile/push/prepare.ts', 'prepare', 'reads again, merges again'],
      ['reconcile/read/ask.ts', 'readBack', 'reads the users by their addresses'],
      ['reconcile/guard/planned-push.ts', 'onlyGuarded', 'keeps only what the guard has seen'],
      ['reconcile/push/carry-name.ts', 'nameAlong', 'adds the name if it would be lost otherwise'],
      ['mirror/intents.ts', 'openIntents', 'writes the push down before it is sent'],
      ['reconcile/push/send.ts', 'sendIntents', 'handles the outcome of the whole request'],
      ['reconcile/push/request.ts', 'sendRequest', 'makes one request'],
      ['reconcile/push/send-guard.ts', 'guardSend', 'checks lease and deadline right before it leaves'],
      ['service/roster-endpoints.ts', 'createRosterEndpoints', '`updateUsers`: path and body of the call'],
      ['service/wire-user.ts', 'encodeUserPatch', 'always writes both names'],
      ...answered,
      ['reconcile/push/request.ts', 'judgeAnswer', 'judges what the answer says'],
      ['reconcile/push/outcome.ts', 'judge', '*confirmed*, field by field'],
      ['reconcile/push/record.ts', 'record', 'records the result'],
      ['reconcile/push/result.ts', 'resultOf', 'derives the values to store and the fields to hold'],
      ['mirror/mirror.ts', 'createMirror', '`applyResults`: a write of this run'],
      ['mirror/lease.ts', 'fenced', 'checks that the lease is still ours'],
      ['mirror/apply-results.ts', 'applyResults', 'stores what the service has in the base'],
    ],
  },
];
