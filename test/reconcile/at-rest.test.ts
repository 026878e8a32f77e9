/** Who is looked at, by what was recorded and what is new; and what is recorded. */
import { describe, expect, it } from 'vitest';
import type { Id } from '../../src/model/id.ts';
import type { WrittenSince, RestingUsers } from '../../src/model/rest.ts';
import type { Everybody, RowsBefore, SomeUsers } from '../../src/model/service-request.ts';
import type { Team } from '../../src/model/team.ts';
import { type LearnablePlan, learnRest, lookForNews, setupHash } from '../../src/reconcile/at-rest.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn, refusal } from './service-stand-in.ts';

const settings = { program: '1.0.0' };
const team: Team = {
  id: 7n,
  name: 'T',
  listSize: 2n ** 60n,
  digest: 'team',
  members: [],
  rejected: [],
  raw: {},
};
const known: RestingUsers = {
  mark: 'then',
  setup: setupHash({ schema: '0068' }, settings),
  name: 'T',
  listSize: String(2n ** 60n),
  team: 'team',
  users: 'users',
  shown: 9_000,
  planned: [],
};
const rest: WrittenSince = {
  mark: 'now',
  schema: '0068',
  since: 'then',
  written: [],
  noted: [],
  present: 9_000,
};
const user = (id: Id, teamId?: Id) => ({ id, raw: {}, ...(teamId === undefined ? {} : { teamId }) });
const idsUpTo = (count: number) => Array.from({ length: count }, (_, at) => BigInt(at + 1));

interface Given {
  readonly known?: Partial<RestingUsers> | null;
  readonly rest?: Partial<WrittenSince>;
  readonly team?: Partial<Team>;
  /** Of the answer. */
  readonly digest?: string;
  readonly hashes?: Buffer | null;
  /** Who has other values; `null`: they are other users. */
  readonly changed?: readonly Id[] | null;
  readonly shows?: readonly Id[];
  readonly of?: Id;
  readonly isRefused?: boolean;
  readonly isPushing?: boolean;
}

/** A run that looks for news; what it asked is written down. */
async function look(given: Given) {
  const asked: { users: number; read: (RowsBefore | 'all')[] } = { users: 0, read: [] };
  const mark = { digest: 'read', hashes: null };
  const answerWith = (ids: readonly Id[]) => ({
    users: ids.map((id) => user(id, given.of)),
    rejected: [],
    requestId: null,
    mark,
  });
  const { changed = [], shows } = given;
  const readAll = (): Promise<Everybody> => {
    asked.read.push('all');
    return Promise.resolve({ how: 'everybody', ...answerWith(shows ?? []) });
  };
  const readNew = (before: RowsBefore): Promise<Everybody | SomeUsers> => {
    asked.read.push(before);
    const answer = answerWith(shows ?? [...new Set([...before.besides, ...(changed ?? [])])]);
    return Promise.resolve(
      changed === null
        ? { how: 'everybody', ...answer }
        : { how: 'some', ...answer, changed: new Set(changed) },
    );
  };
  const service = Object.assign(createServiceStandIn([]), {
    askEverybody: () => {
      asked.users += 1;
      if (given.isRefused === true) return Promise.reject(refusal(400));
      return Promise.resolve({ digest: given.digest ?? 'users', requestId: null, readAll, readNew });
    },
  });
  const mirror = Object.assign(createMirrorStandIn([]), {
    readRestingUsers: () => Promise.resolve(given.known === null ? null : { ...known, ...given.known }),
    readRest: () => Promise.resolve({ ...rest, ...given.rest }),
    readRowHashes: () => Promise.resolve('hashes' in given ? given.hashes : Buffer.from('hashes')),
    ...(given.isPushing === true ? { readIntents: () => Promise.resolve([{}]) } : {}),
  });
  const places = { service, mirror, notes: createRunNotes(), monotonicMs: () => 0 } as Parameters<
    typeof lookForNews
  >[0];
  return { found: await lookForNews(places, { ...team, ...given.team }, settings), asked };
}

describe('A run that knows what was recorded', () => {
  it('reads nothing if nothing is new', async () => {
    const { found, asked } = await look({});
    expect(found).toEqual({ how: 'nothing', shown: 9_000 });
    expect(asked).toEqual({ users: 1, read: [] });
  });

  it.each<readonly [string, Given, readonly Id[]]>([
    ['was planned', { known: { planned: ['4'] }, rest: { present: 8_999 } }, [4n]],
    ['was written', { rest: { written: [4n], present: 8_999 } }, [4n]],
    ['was planned and written', { known: { planned: ['4'] }, rest: { written: [4n], present: 8_999 } }, [4n]],
    ['is noted', { rest: { noted: [4n] } }, [4n]],
    [
      'is one of each',
      { known: { planned: ['4'] }, rest: { written: [5n], noted: [5n, 6n], present: 8_998 } },
      [4n, 5n, 6n],
    ],
    ['is one of as many as are looked at one by one', { rest: { noted: idsUpTo(1_125) } }, idsUpTo(1_125)],
  ])('looks at who %s, without hashes if the answer is the same', async (_, given, only) => {
    const { found, asked } = await look(given);
    expect(found).toMatchObject({ how: 'some', shown: 9_000, only: new Set(only) });
    expect(asked).toEqual({ users: 1, read: [{ hashes: null, besides: new Set(only) }] });
  });

  it('looks at those as well whose hash is another if the answer is', async () => {
    const { found, asked } = await look({ digest: 'other', changed: [1n], rest: { noted: [4n] } });
    expect(found).toMatchObject({ how: 'some', only: new Set([1n, 4n]) });
    expect(asked.read).toEqual([{ hashes: Buffer.from('hashes'), besides: new Set([4n]) }]);
    expect((await look({ digest: 'other' })).found).toMatchObject({ how: 'some', only: new Set() });
  });

  it.each<readonly [string, Given, 'not asked' | 'read as a whole' | 'read so far' | 'asked again']>([
    ['nothing is known', { known: null }, 'not asked'],
    ['the team is another', { team: { digest: 'other' } }, 'not asked'],
    ['somebody is being pushed', { isPushing: true }, 'not asked'],
    ['the record is another one by now', { rest: { since: 'later' } }, 'read as a whole'],
    ['the record is of another database', { rest: { since: null } }, 'read as a whole'],
    ['the settings or the program are others', { known: { setup: 'other' } }, 'read as a whole'],
    ['the schema is a later one', { rest: { schema: '0069' } }, 'read as a whole'],
    ['one is missing in the database', { rest: { present: 8_999 } }, 'read as a whole'],
    ['one more is there', { rest: { present: 9_001 } }, 'read as a whole'],
    ['one of those who are left open is not there', { known: { planned: ['4'] } }, 'read as a whole'],
    ['many are to be looked at', { rest: { noted: idsUpTo(1_126) } }, 'read as a whole'],
    ['there are no hashes of another answer', { digest: 'other', hashes: null }, 'read as a whole'],
    ['the answer is of other users', { digest: 'other', changed: null }, 'read so far'],
    [
      'somebody who is to be looked at is not shown',
      { rest: { noted: [4n, 5n] }, shows: [4n] },
      'asked again',
    ],
    ['somebody is of another team', { digest: 'other', changed: [4n], of: 8n }, 'asked again'],
  ])('compares everybody if %s', async (_, given, how) => {
    const { found, asked } = await look(given);
    expect(found).toMatchObject(
      how.startsWith('read')
        ? { how: 'everybody', rest: { mark: 'now' }, answer: { mark: { digest: 'read' } } }
        : { how: 'unasked', rest: { mark: 'now' } },
    );
    expect(asked.users).toBe(how === 'not asked' ? 0 : 1);
    expect(asked.read.map((one) => (one === 'all' ? 'all' : 'new'))).toEqual(
      { 'not asked': [], 'read as a whole': ['all'], 'read so far': ['new'], 'asked again': ['new'] }[how],
    );
  });

  it('compares everybody if the service does not answer for all, and reads of a user without a team', async () => {
    expect((await look({ isRefused: true })).found).toMatchObject({ how: 'everybody', answer: null });
    expect((await look({ rest: { noted: [4n] }, of: 7n })).found.how).toBe('some');
  });
});

describe('What a run records', () => {
  const mark = { digest: 'users', hashes: Buffer.from('hashes') };
  const whole: LearnablePlan['look'] = { how: 'unasked', rest };
  const some = (...changed: readonly Id[]): LearnablePlan['look'] => ({
    how: 'some',
    rest,
    answer: { how: 'some', users: [], rejected: [], requestId: null, mark, changed: new Set(changed) },
    only: new Set(changed),
    shown: 2,
  });
  const roster = {
    users: new Map(),
    shown: 2,
    mark,
    members: new Map([1n, 2n].map((id) => [id, { id }])),
    rejected: [],
    repeated: new Map(),
    unresolved: [],
  };
  const plan = { roster, plans: [{ id: 2n }], unknown: [3n], absent: [], stale: [] };
  const learn = async (changes: object = {}, how: LearnablePlan['look'] = whole, of: object = {}) => {
    const learned: unknown[] = [];
    const mirror = Object.assign(createMirrorStandIn([]), {
      readTaken: () => Promise.resolve({ mark: 'taken', written: [9n] }),
      applyRestingUsers: (...of: readonly unknown[]) => Promise.resolve(void learned.push(...of)),
    });
    await learnRest(
      mirror,
      { ...team, ...of },
      { ...plan, ...changes, look: how } as unknown as LearnablePlan,
      settings,
    );
    return learned;
  };
  const record = { ...known, mark: 'now', shown: 2, planned: ['2', '3'] };

  it('is the mark from before the comparison, who was planned, and the hashes if they are new', async () => {
    expect(await learn()).toEqual([record, mark.hashes, true]);
    expect(await learn({}, some(1n))).toEqual([record, mark.hashes, false]);
    expect(await learn({}, some())).toEqual([record, null, false]);
  });

  it('is, after a first run, the state that it left', async () => {
    const first = { plans: [], unknown: [1n, 2n] };
    expect(await learn(first)).toEqual([{ ...record, mark: 'taken', planned: ['9'] }, mark.hashes, true]);
  });

  it.each<readonly [string, object]>([
    ['a row could not be taken', { roster: { ...roster, rejected: [{}] } }],
    ['a member is answered by no lookup', { roster: { ...roster, unresolved: [1n] } }],
    ['an id came twice', { roster: { ...roster, repeated: new Map([[1n, false]]) } }],
    ['others are shown than are listed', { roster: { ...roster, shown: 3 } }],
    ['not all were in one answer', { roster: { ...roster, mark: null } }],
    ['the answer could not be read one by one', { roster: { ...roster, mark: { ...mark, hashes: null } } }],
    ['somebody is missing', { absent: [{}] }],
    ['somebody is shown older than before', { stale: [1n] }],
  ])('is nothing if %s', async (_, changes) => {
    expect(await learn(changes)).toEqual([]);
    expect(await learn({}, whole, { digest: null })).toEqual([]);
  });
});
