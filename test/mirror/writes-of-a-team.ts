/** What is written for one team, for tests of what another team has to do with it: nothing. */
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Database, Transaction } from '../../src/mirror/db/database.ts';
import { withSpool } from '../../src/mirror/db/spool.ts';
import { publishListing, tableOf, writeRejectedRows } from '../../src/mirror/listings/listings.ts';
import { noteEnd, wakeForEdits } from '../../src/mirror/team/due.ts';
import { noteStale, endStale } from '../../src/mirror/team/stale.ts';
import { applyAbsences } from '../../src/mirror/users/absences.ts';
import { applyResults } from '../../src/mirror/users/apply-results.ts';
import { editUsers, endPulled, endWithdrawn } from '../../src/mirror/users/edits.ts';
import { noteEdits } from '../../src/mirror/users/fresh-edits.ts';
import { askHolds } from '../../src/mirror/users/held.ts';
import { writeStopped } from '../../src/mirror/users/held-batches.ts';
import { endHolds, noteShown, writeHolds } from '../../src/mirror/users/holds.ts';
import { markSent, openIntents, readIntents } from '../../src/mirror/users/intents.ts';
import { endPeriods, recordUsers } from '../../src/mirror/users/periods.ts';
import { writeRoles } from '../../src/mirror/users/roles.ts';
import { readUserState } from '../../src/mirror/users/users-read.ts';
import { forgetUsers } from '../../src/mirror/users/users-write.ts';
import tags from '../../src/model/listed/tags.ts';
import type { Field } from '../../src/model/fields.ts';
import type { TimeFromNow } from '../../src/model/moment.ts';
import { decisions, moveOf } from '../support/decisions.ts';

type Writes = Readonly<Record<string, () => Promise<unknown>>>;

/** The team is the one that `fill` of the test has filled. */
export function writesOf(tx: Transaction, run: { readonly teamId: bigint; readonly runId: bigint }): Writes {
  const { teamId } = run;
  const hold = {
    field: 'phone',
    reason: 'conflict',
    base: null,
    mirror: '15550100',
    service: '3',
    detail: '',
  } as const;
  const userWith = (id: bigint, fields: Parameters<typeof decisions>[0]) => ({
    id,
    case: 'merge' as const,
    fields: decisions(fields),
    write: null,
  });
  const absent = {
    missing: [6n],
    gone: [5n],
    found: [5n],
    lost: [],
    withheld: null,
  };
  const ask = async (id: bigint, field: Field, end: TimeFromNow | null) => {
    await sql`delete from sync.leases where team = 'north'`.execute(tx);
    return await askHolds(tx, teamId, id, { fields: [field], end, why: '' });
  };
  return {
    'holds a field': () => writeHolds(tx, run, [{ id: 1n, hold }]),
    'notes what is shown': () => noteShown(tx, run, [userWith(5n, { phone: { kind: 'held', shown: '9' } })]),
    'ends a hold': () => endHolds(tx, run, [userWith(5n, { phone: { kind: 'same', ends: true } })]),
    'holds as asked': () => ask(5n, 'phone', { seconds: 60 }),
    'ends a hold that was asked for': async () =>
      expect(await ask(6n, 'email', null)).toMatchObject({ held: ['email'] }),
    'ends what was asked of a hold': () => ask(4n, 'roleId', null),
    'stops pushes': () => writeStopped(tx, run, { holds: [{ id: 1n, hold }], isNews: true }),
    'marks rows as gone': () => applyAbsences(tx, run, 'tags', absent),
    'opens a push': async () => {
      const move = moveOf('push', { base: null, mirror: '15550100', service: null });
      const plan = userWith(1n, { phone: move });
      return await openIntents(tx, run, [plan], new Set());
    },
    'marks a push as sent': () => markSent(tx, teamId, [4n]),
    'closes a push': async () => {
      const results = (await readIntents(tx, teamId)).map((intent) => ({
        intent,
        outcomes: { phone: 'confirmed' as const },
        seen: null,
        taken: { ...intent.base, phone: '4' },
        joined: '',
        holds: [],
        harmed: false,
        closed: true,
        isDirect: true,
        hasLeft: true,
        requestId: null,
      }));
      return await applyResults(tx, run, results);
    },
    'edits a user': async () => {
      const { mirror } = await readUserState(tx, teamId, 2n);
      if (mirror === undefined) throw new Error('there is no user 2');
      return await editUsers(tx, teamId, [
        { id: 2n, expected: mirror, values: { name: { first: 'A', last: 'B' } }, isGuess: true },
      ]);
    },
    'ends an edit': () => endPulled(tx, teamId, [{ user_id: 1n, field: 'email' }]),
    'ends an edit that was taken back': async () => {
      await sql`update mirror.users set phone = null where team_id = ${teamId} and id = 1`.execute(tx);
      await endWithdrawn(teamId).execute(tx);
    },
    'ends periods': async () => {
      await sql`delete from mirror.users where team_id = ${teamId} and id = 6`.execute(tx);
      await endPeriods(tx, run, [6n]);
    },
    'forgets users': () => forgetUsers(tx, run, [1n, 5n]),
    'records users': () => recordUsers(tx, teamId, [1n, 2n]),
    'counts roles': () => writeRoles(tx, teamId),
    'notes that a user is stale': () => noteStale(tx, teamId, [1n]),
    'notes that a user is not stale': () => endStale(tx, teamId, [4n]),
    'wakes for edits': () => wakeForEdits(tx, 'north'),
    'notes edits': () => noteEdits({ transaction: (work) => work(tx) } as Database, 'north', '7:7:'),
    'notes the end of a run': () =>
      noteEnd(sql`select 'north' as team, '{users}'::text[] as groups`, 'failed').execute(tx),
    'publishes a listing': () => {
      const tag = { id: 5n, teamId, tag: 'a', color: null, rev: null, created: null, updated: null, raw: {} };
      return withSpool(tableOf(tags), [tag], (spool) => publishListing(tx, run, spool));
    },
    'keeps rejected rows': () =>
      writeRejectedRows(tx, run, 'tags', [{ resource: 'tags', id: 5n, reason: 'now', excerpt: '{}' }]),
    'forgets rejected rows': () => writeRejectedRows(tx, run, 'tags', []),
  };
}
