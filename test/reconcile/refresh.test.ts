import inboxes from '../../src/model/listed/inboxes.ts';
import surveys from '../../src/model/listed/surveys.ts';
import tags from '../../src/model/listed/tags.ts';
import { describe, expect, it } from 'vitest';
import type { AbsenceDecision, AbsenceVerdicts, RefreshResult } from '../../src/model/absence.ts';
import { toJson } from '../../src/model/json.ts';
import {
  type AgreedListing,
  type Listing,
  type ListingAnswers,
  type ListingMemory,
  nothingLearned,
} from '../../src/model/listing.ts';
import type { MirrorWriter } from '../../src/reconcile/ports.ts';
import type { ListedResource, ListedRow } from '../../src/model/listed-resource.ts';
import { createRunNotes } from '../../src/reconcile/run-notes.ts';
import { countContacts, planRefresh, type Refreshable, refresh } from '../../src/reconcile/refresh.ts';
import { createGathered, createMirrorStandIn } from './mirror-stand-in.ts';
import { createServiceStandIn, refusal } from './service-stand-in.ts';

const memory: ListingMemory = { limit: 50 };
const learned: ListingMemory = { limit: null };
const settings = {
  program: '1',
  teamId: 41n,
  pageSize: 100,
  absence: { confirmAfterMs: 600_000 },
};

interface StageOptions {
  readonly listing?: Partial<Pick<Listing<ListedRow>, 'rejected'>> & {
    readonly because?: string;
    readonly isOffered?: boolean;
  };
  /** Ids that it gives twice with different values. */
  readonly differing?: readonly bigint[];
  readonly result?: Partial<RefreshResult>;
  readonly row?: Refreshable['row'];
  readonly decided?: AbsenceVerdicts;
  readonly resource?: ListedResource;
  /** Rows that lack what is read row by row. */
  readonly lacking?: readonly ListedRow[];
  /** The one that the run before asked for last. */
  readonly lastRow?: string;
  /** Of an earlier reading. */
  readonly agreed?: AgreedListing | undefined;
  readonly digests?: readonly string[] | null;
  readonly isKnown?: boolean;
}

/** A listing of three rows, published into a mirror that writes down what it is told. */
function createStage({
  listing,
  differing = [],
  result,
  row,
  decided = new Map(),
  resource = tags,
  lacking = [],
  lastRow,
  agreed,
  digests = null,
  isKnown = false,
}: StageOptions) {
  const told: {
    published: number;
    memory: ListingMemory[];
    answers: (ListingAnswers | null)[];
    absences: AbsenceDecision[];
    rejected: number;
    asked: unknown[];
    replaced: unknown[];
  } = {
    published: 0,
    memory: [],
    answers: [],
    absences: [],
    rejected: 0,
    asked: [],
    replaced: [],
  };
  const changed: RefreshResult = { added: 1, changed: 2, absent: [], population: 100, ...result };
  const rows = ['a', 'b', 'c'];
  const common = {
    rows: [],
    count: rows.length,
    rejected: listing?.rejected ?? [],
    memory: learned,
    requests: 4,
    digests,
  };
  const of: Refreshable = {
    resource,
    list: (options) => {
      told.asked.push(options.memory, options.size);
      options.onPage?.(3);
      return Promise.resolve<Listing<ListedRow>>(
        listing?.because === undefined
          ? { status: 'complete', ...common, isOffered: listing?.isOffered ?? true, isKnown }
          : { status: 'incomplete', because: listing.because, ...common },
      );
    },
    row,
  };
  const mirror = Object.assign(createMirrorStandIn([]), {
    readListingMemory: () => Promise.resolve({ ...memory, lastRow, agreed }),
    gatherListing: () => ({
      ...createGathered(),
      differing: () => differing,
      replace: (replaced: unknown) => told.replaced.push([told.published, replaced]),
    }),
    readLackingRows: (_: unknown, most: number, after: bigint) => {
      const order = [...lacking.filter(({ id }) => id > after), ...lacking.filter(({ id }) => id <= after)];
      return Promise.resolve(order.slice(0, most));
    },
    compareListing: () => Promise.resolve(changed),
    applyListing: (
      _: unknown,
      { rejected, memory, answers }: Parameters<MirrorWriter['applyListing']>[1],
    ) => {
      told.published += 1;
      told.memory.push(memory);
      told.answers.push(answers);
      told.rejected += rejected.length;
      return Promise.resolve(changed);
    },
    readAbsenceVerdicts: () => Promise.resolve(decided),
    applyAbsences: (_: string, decision: AbsenceDecision) => {
      told.absences.push(decision);
      return Promise.resolve([]);
    },
  });
  const notes = createRunNotes();
  const run = () => refresh(of, mirror, settings, notes);
  return { of, mirror, told, notes, run };
}

const due = { id: 7n, missingForMs: 600_000 };
const first = { id: 8n, missingForMs: undefined };

describe('refresh', () => {
  it('writes the rows into the mirror, and stores how the service numbers and sizes its pages', async () => {
    const { run, told, notes } = createStage({});
    await run();
    expect(notes).toMatchObject({ counts: { tags_read: 3, tags_added: 1, tags_changed: 2 }, reasons: [] });
    expect(told).toMatchObject({
      asked: [memory, 100],
      memory: [learned],
      absences: [{ missing: [], gone: [] }],
    });
  });

  const hour = 3_600_000;
  const agreedOn = (atMs: number, setup = toJson(['1', 100])) => ({
    digests: ['one', 'two'],
    count: 20,
    setup,
    atMs,
    rows: '3',
  });

  it('writes nothing into the mirror if the service gives the same answers as in the run before', async () => {
    const agreed = agreedOn(Date.now() - 23 * hour);
    const { run, told, notes } = createStage({ agreed, isKnown: true });
    await run();
    expect(told).toMatchObject({ published: 0, absences: [], asked: [{ ...memory, agreed }, 100] });
    expect(notes).toMatchObject({ counts: { tags_read: 3 }, reasons: [] });
  });

  it.each([
    ['are a day old', agreedOn(Date.now() - 24 * hour)],
    ['are from the future', agreedOn(Date.now() + hour)],
    ['are from another version of musterd', agreedOn(Date.now() - 1 * hour, toJson(['2', 100]))],
    ['have pages of another size', agreedOn(Date.now() - 1 * hour, toJson(['1', 50]))],
  ])('reads all rows again if the stored answers %s', async (_, agreed) => {
    const { run, told } = createStage({ agreed });
    await run();
    expect([told.published, ...told.asked]).toEqual([1, memory, 100]);
  });

  it.each([
    ['a complete listing', {}, [expect.objectContaining({ digests: ['one'], count: 3 })]],
    ['an incomplete listing', { listing: { because: 'a page is missing' } }, [null]],
    ['a listing whose pages were read in another order', { digests: null }, [null]],
    ['a listing whose row lacks a field', { resource: surveys, lacking: [{ id: 1n, raw: {} }] }, [null]],
  ])('stores answers for the next run only if complete and in order: %s', async (_, options, answers) => {
    const { run, told } = createStage({ digests: ['one'], row: () => Promise.resolve(null), ...options });
    await run();
    expect(told.answers).toEqual(answers);
  });

  it('warns in a run and in a plan if the service does not have the listing', async () => {
    const stage = createStage({ listing: { isOffered: false } });
    const warnings = ['tags: the service has no such listing (404), so it counts as empty'];
    await stage.run();
    expect(stage.notes).toMatchObject({ reasons: [], warnings });
    const planned = createRunNotes();
    await planRefresh(stage.of, stage.mirror, settings, planned);
    expect(planned).toMatchObject({ reasons: [], warnings });
  });

  describe('a field that a listing leaves out', () => {
    const survey = (id: number, more: object = {}): ListedRow => ({
      id: BigInt(id),
      name: 'S',
      raw: {},
      ...more,
    });
    const lacking = [survey(1, { question: null }), survey(2, { question: null })];

    it('makes the run look up the field row by row, and write it with the listing', async () => {
      const asked: bigint[] = [];
      const { run, told, notes } = createStage({
        resource: surveys,
        lacking,
        result: { added: 0, changed: 0 },
        row: (id) => {
          asked.push(id);
          return Promise.resolve(id === 1n ? survey(1, { question: 'How?', name: 'Other' }) : null);
        },
      });
      await run();
      expect(asked).toEqual([1n, 2n]);
      // Before anything was published. One that is not there now is asked for again.
      expect(told.replaced).toEqual([[0, survey(1, { question: 'How?' })]]);
      expect(told).toMatchObject({ published: 1 });
      expect(notes.reasons).toEqual([]);
    });

    it('becomes an empty text in the mirror if the row’s own lookup lacks the field too', async () => {
      const row = () => Promise.resolve(survey(1));
      const { run, told } = createStage({ resource: surveys, lacking: lacking.slice(0, 1), row });
      await run();
      expect(told.replaced).toEqual([[0, survey(1, { question: '' })]]);
    });

    it('makes a run continue after the last row that the run before looked up, even if three rows fail', async () => {
      const six = [1, 2, 3, 4, 5, 6].map((id) => survey(id, { question: null }));
      const asked: bigint[] = [];
      const stage = (lastRow: string | undefined) =>
        createStage({
          resource: surveys,
          lacking: six,
          ...(lastRow === undefined ? {} : { lastRow }),
          row: (id) => {
            asked.push(id);
            return id <= 3n ? Promise.reject(refusal(500)) : Promise.resolve(survey(Number(id)));
          },
        });
      const before = stage(undefined);
      await before.run();
      expect(before.told.memory).toEqual([{ ...learned, lastRow: '3' }]);
      const after = stage('3');
      await after.run();
      expect(asked).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 1n, 2n, 3n]);
      expect(after.told.memory).toEqual([{ ...learned, lastRow: '3' }]);
    });
  });

  it('leaves rows of another team out of the mirror, and records them as rejected', async () => {
    const { of, mirror, told, notes } = createStage({ resource: inboxes });
    const added: unknown[] = [];
    const gathered = mirror.gatherListing;
    const stage = {
      ...mirror,
      gatherListing: () => ({ ...gathered(), add: (rows: readonly unknown[]) => added.push(...rows) }),
    } as unknown as typeof mirror;
    const inbox = (id: bigint, team: bigint | null) => ({ id, team, raw: {} });
    const rows = [inbox(1n, 41n), inbox(2n, 42n), inbox(3n, null)];
    const list: Refreshable['list'] = (options) => {
      options.sink?.add(rows);
      options.sink?.replace(inbox(1n, 42n));
      return of.list(options);
    };
    await refresh({ ...of, list }, stage, settings, notes);
    expect(added).toEqual([rows[0], rows[2]]);
    expect(told).toMatchObject({ rejected: 2, replaced: [] });
    expect(notes.warnings).toEqual(['inboxes: 2 rows of another team were left out']);
  });

  it('marks no row as gone if the listing is incomplete', async () => {
    const { run, told, notes } = createStage({
      listing: {
        because: 'page 2 was refused',
        rejected: [{ resource: 'tags', id: null, reason: 'no id', excerpt: '' }],
      },
      result: { absent: [due] },
    });
    await run();
    expect(notes.reasons).toEqual(['tags: page 2 was refused']);
    expect(told).toMatchObject({ absences: [], memory: [learned], rejected: 1 });
    expect(notes.counts).toMatchObject({ tags_added: 1 });
    expect(notes.counts['tags_gone']).toBeUndefined();
  });

  it('marks a missing row as gone if the lookup of the row finds nothing, and forgets the stored page numbering', async () => {
    const { run, told, notes } = createStage({
      result: { absent: [due, first] },
      row: () => Promise.resolve(null),
    });
    await run();
    expect(told.absences).toMatchObject([{ missing: [7n, 8n], gone: [7n], withheld: null }]);
    expect(notes).toMatchObject({ counts: { tags_gone: 1 }, reasons: [] });
    expect(told.memory).toEqual([nothingLearned]);
  });

  it('keeps a row that the listing lacks but a lookup finds, and warns (A4)', async () => {
    const { run, told, notes } = createStage({
      result: { absent: [due] },
      row: (id) => Promise.resolve({ id, raw: {} }),
    });
    await run();
    expect(told.absences).toMatchObject([{ missing: [7n], gone: [], found: [7n], lost: [], withheld: null }]);
    expect(notes.reasons).toEqual([]);
    expect(notes.warnings).toEqual([
      'tags: the listing leaves out 1 rows that exist, perhaps because they are archived; they stay in the mirror',
    ]);
  });

  it('looks up 20 of 50 rows that the listing leaves out, in the order of their earlier lookups', async () => {
    const ids = Array.from({ length: 50 }, (_, i) => BigInt(100 - i));
    const asked: bigint[] = [];
    const { run, told, notes } = createStage({
      result: { absent: ids.map((id) => ({ id, missingForMs: 600_000 })).toReversed() },
      decided: new Map(ids.map((id) => [id, 'found'])),
      row: (id) => {
        asked.push(id);
        return Promise.resolve(id === 99n ? null : { id, raw: {} });
      },
    });
    await run();
    expect(asked).toEqual(ids.slice(0, 20));
    expect(told.absences).toMatchObject([
      { gone: [], found: ids.slice(0, 20).filter((id) => id !== 99n), lost: [99n], withheld: null },
    ]);
    expect(notes).toMatchObject({ reasons: [], warnings: [expect.stringContaining('leaves out 49 rows')] });
  });

  it('marks a missing row as gone because the listing lacks it, if the interface has no lookup', async () => {
    const { run, told } = createStage({ result: { absent: [due] } });
    await run();
    expect(told).toMatchObject({ absences: [{ missing: [7n], gone: [7n] }], memory: [learned] });
  });

  it('marks no row as gone if too many rows are missing, and names the command that approves the removal', async () => {
    const { run, told, notes } = createStage({
      result: { absent: [due, first], population: 3 },
      row: () => Promise.reject(new Error('asked')),
    });
    await run();
    expect(told).toMatchObject({ absences: [{ missing: [7n, 8n], gone: [] }], memory: [nothingLearned] });
    expect(notes.reasons).toEqual([
      'tags: 2 of 3 rows are missing, more than half; none of them is marked as gone until a person approves batch 16f68f62e497',
    ]);
  });

  it('planRefresh counts the changes that a run would make, and writes nothing', async () => {
    const { of, mirror, told, notes } = createStage({ result: { absent: [due] } });
    const result = await planRefresh(of, mirror, settings, notes);
    expect(result.absent).toEqual([due]);
    expect(notes.counts).toEqual({ tags_read: 3, tags_added: 1, tags_changed: 2 });
    expect(told).toMatchObject({ absences: [], memory: [], rejected: 0 });
  });
});

describe('countContacts', () => {
  const segments = ['all', 'bad', 'tagged'].map((name) => ({ name, body: { filter: name } }));
  const serviceThat = (fails: unknown) =>
    Object.assign(createServiceStandIn([]), {
      contactCount: (body: Readonly<Record<string, unknown>>) =>
        body['filter'] === 'bad'
          ? Promise.reject(fails instanceof Error ? fails : new Error('none'))
          : Promise.resolve(12n),
    });

  it('counts each segment with one request, and continues after a failed segment', async () => {
    const notes = createRunNotes();
    const counts = await countContacts(serviceThat(refusal(500)), segments, notes);
    expect(counts).toEqual([
      { segment: 'all', count: 12n },
      { segment: 'tagged', count: 12n },
    ]);
    expect(notes).toMatchObject({
      counts: { contact_counts: 2 },
      reasons: ['contact count "bad": answered 500'],
    });
  });
});

describe('a listing', () => {
  it('warns about ids that the service gave twice with different values, and records the ids', async () => {
    const { run, told, notes } = createStage({ differing: [7n, 8n] });
    await run();
    expect(notes.warnings).toEqual([
      'tags: 2 ids came twice with different values, and the last row of each counts: 7, 8',
    ]);
    expect([told.rejected, notes.reasons]).toEqual([2, []]);
  });
});
