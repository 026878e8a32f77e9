/** What is said of a decision, state by state: the parts add up to the first number. */
import { describe, expect, it } from 'vitest';
import type { FollowedDecision } from '../../src/page/read/page-decided.ts';
import type { PageWaiting, Sending } from '../../src/page/read/page-waiting-view.ts';
import { decidedLast, receiptCard } from '../../src/page/render/receipt.ts';
import type { PageContext } from '../../src/page/render/view.ts';
import { fates, hasNotLeft } from '../../src/model/waiting-page.ts';

const clock = (time: string) => new Date(`2026-03-11T${time}Z`);
const team = { team: 'harbour', teamId: 41n, name: 'Harbour' };
const context: PageContext = {
  path: '/waiting',
  params: {},
  query: new URLSearchParams('done=12'),
  isCsv: false,
  details: true,
  teams: [team, { team: 'north', teamId: 42n, name: null }],
  team,
  now: clock('14:33:10'),
  decide: { actor: 'kim', token: () => 'secret', barred: new Set(), why: '' },
  waiting: 0,
  roleNames: new Map(),
  standings: new Map(),
  placing: {
    verdict: 'unrecorded',
    known: null,
    here: { identifier: null, database: '5', address: { at: 'db-1:5432/muster', machine: null } },
    until: null,
  },
  waitingEdits: 0,
  daemons: [],
  stopped: new Map(),
  version: '1',
  explain: () => null,
  saySeen: () => '',
  perMinute: () => null,
};
const approved: FollowedDecision = {
  number: 12n,
  teamId: 41n,
  at: clock('14:33:02'),
  decision: 'approve',
  by: 'kim',
  why: 'new switchboard numbers',
  rows: 58,
  isMore: false,
  fates: {},
  users: {},
  fields: ['phone'],
  name: 'Ngozi Costa',
  value: '41794100348',
  runs: [],
  sentAt: null,
  waitsIn: [],
};
const sent = { runs: [4824n], sentAt: clock('14:33:05') };

const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, '');
/** The sentence, and the links and buttons below it. */
const said = (html: string) => ({
  words: textOf(/<p>(.*?)<\/p>/s.exec(html)?.[1] ?? ''),
  ways: [...html.replace(/<noscript>.*?<\/noscript>/, '').matchAll(/<(a|button)[ >][^>]*>([^<]*)<\/\1>/g)]
    .map(([, , words = '']) => words)
    .slice(-4),
});
const card = (
  more: Partial<FollowedDecision>,
  sending: Sending = { listens: true, nextRun: clock('14:35:00') },
  of = context,
) => receiptCard(of, { done: { ...approved, ...more }, sending } as unknown as PageWaiting).toString();
const iconOf = (html: string) =>
  ({ 'M5 8.2': 'tick', 'M8 4.4': 'clock', 'M8 1.4': 'half', 'M8 1.6': 'alarm' })[
    /d="(M\d [\d.]+)/.exec(html)?.[1] ?? ''
  ] ?? 'dashed';

describe('the receipt', () => {
  it.each<[string, Partial<FollowedDecision>, string, readonly string[]]>([
    [
      'clock',
      { fates: { coming: 58 } },
      '58 approved by you at 14:33:02. The daemon begins with them now.',
      ['Close'],
    ],
    [
      'half',
      { fates: { sent: 31, leaving: 27 }, users: { sent: 25, leaving: 20 }, runs: [4824n] },
      '58 approved by you at 14:33:02. 31 of 58 are sent, in run 4,824; request 2 of 2 is on its way.',
      ['Close'],
    ],
    [
      'half',
      {
        fates: { sent: 10, leaving: 30, coming: 15, edited: 3 },
        users: { sent: 25, leaving: 60, coming: 30 },
        runs: [4824n],
      },
      '58 approved by you at 14:33:02. 10 of 58 are sent, in run 4,824; requests 2 to 4 of 5 are on their way; 3 were edited meanwhile and wait again.',
      ['Close'],
    ],
    [
      'half',
      { fates: { sent: 31, coming: 27 }, users: { sent: 31, coming: 27 }, runs: [4824n] },
      '58 approved by you at 14:33:02. 31 of 58 are sent, in run 4,824; 27 go with the next run.',
      ['Close'],
    ],
    [
      'tick',
      { fates: { sent: 56, edited: 2 }, ...sent, waitsIn: [{ batch: '5f0c', state: 'limit' }] },
      '58 approved by you at 14:33:02. 56 were sent in run 4,824 and are confirmed since 14:33:05; 2 were edited meanwhile and wait again.',
      ['The 2 that wait again', 'The 56, with values', 'Close'],
    ],
    [
      'alarm',
      { fates: { sent: 55, refused: 3 }, ...sent, runs: [4824n, 4825n] },
      '58 approved by you at 14:33:02. 55 were sent in 2 runs and are confirmed since 14:33:05; 3 were refused by the service and wait for somebody.',
      ['The 3 that were refused', 'The 55, with values', 'Close'],
    ],
    [
      'dashed',
      { fates: { sent: 50, asked: 8 }, ...sent },
      '58 approved by you at 14:33:02. 50 were sent in run 4,824 and are confirmed since 14:33:05; of 8 the answer was lost. The next run, at 14:35, looks whether they arrived, and sends them again only if not.',
      ['The 8 without an answer', 'The 50, with values', 'Close'],
    ],
    [
      'dashed',
      { rows: 1, fates: { asked: 1 } },
      '1 approved by you at 14:33:02. The answer was lost. The next run, at 14:35, looks whether it arrived, and sends it again only if not.',
      ['The one without an answer', 'Close'],
    ],
    [
      'tick',
      { decision: 'service', rows: 37, fates: { kept: 37 } },
      '37 of the service’s phone numbers taken by you at 14:33:02. They are in the mirror since 14:33:02. Nothing was sent.',
      ['The 37, with values', 'Close'],
    ],
    [
      'tick',
      { decision: 'service', rows: 1, fates: { moved: 1 }, by: 'office for m.okoye' },
      'The service’s phone number taken by office for m.okoye at 14:33:02. It was edited again or taken back meanwhile.',
      ['The one, with its value', 'Close'],
    ],
    [
      'tick',
      { decision: 'mirror', fields: ['email', 'phone'], fates: { sent: 58 }, ...sent, by: 'office for kim' },
      '58 of the mirror’s values taken by you at 14:33:02. They were sent in run 4,824 and are confirmed since 14:33:05.',
      ['The 58, with values', 'Close'],
    ],
    [
      'tick',
      { decision: 'reject', rows: 60, fates: { kept: 60 } },
      '60 rejected by you at 14:33:02. They stay in the mirror, and are not sent before somebody edits them again. Nothing was sent.',
      ['The 60, with values', 'Close'],
    ],
    [
      'clock',
      { decision: 'value', rows: 1, fates: { coming: 1 } },
      'Phone of Ngozi Costa set to 41794100348 by you at 14:33:02. The daemon begins with it now.',
      ['Close'],
    ],
    [
      'tick',
      {
        decision: 'value',
        rows: 1,
        fates: { waits: 1 },
        why: '',
        waitsIn: [{ batch: null, state: 'conflict' }],
      },
      'Phone of Ngozi Costa set to 41794100348 by you at 14:33:02. It waits for somebody.',
      ['The one that waits again', 'The one, with its value', 'Close'],
    ],
    [
      'tick',
      { fates: { sent: 50, decided: 5, moved: 3 }, ...sent },
      '58 approved by you at 14:33:02. 50 were sent in run 4,824 and are confirmed since 14:33:05; 5 were decided about again; 3 were edited again or taken back meanwhile.',
      ['The 50, with values', 'Close'],
    ],
  ])('%s: %o', (shape, more, words, ways) => {
    const html = card(more);
    const all = said(html.replaceAll(/<a [^>]*>(run)/g, '$1'));
    expect([iconOf(html), all.words, all.ways]).toEqual([shape, words, ways]);
    const { rows = approved.rows, fates: of = {} } = more;
    expect(fates.reduce((sum, fate) => sum + (of[fate] ?? 0), 0)).toBe(rows);
  });

  it('says when, where no daemon hears of it or the next run comes later', () => {
    const coming = { fates: { coming: 58 } };
    expect(said(card(coming, { listens: false, nextRun: null })).words).toBe(
      '58 approved by you at 14:33:02. No daemon runs, so nothing is sent before somebody begins one, or: musterd --team harbour reconcile',
    );
    const later = { ...context, now: clock('14:36:00') };
    expect(said(card(coming, { listens: true, nextRun: clock('14:40:00') }, later)).words).toContain(
      'They go with the next run, at 14:40.',
    );
    const html = card({ fates: { asked: 58 } }, { listens: true, nextRun: null });
    expect(said(html).words).toContain('The answer was lost. The next run looks whether they arrived');
  });

  it('is followed while a daemon is at it, and for ten minutes', () => {
    const isFollowed = (more: Partial<FollowedDecision>, listens = true, now = context.now) =>
      card(more, { listens, nextRun: null }, { ...context, now }).includes('data-live');
    expect(isFollowed({ fates: { coming: 58 } })).toBe(true);
    expect(isFollowed({ fates: { leaving: 58 } })).toBe(true);
    expect(isFollowed({ fates: { coming: 58 } }, false)).toBe(false);
    expect(isFollowed({ fates: { coming: 58 } }, true, clock('14:44:00'))).toBe(false);
    expect(isFollowed({ fates: { sent: 58 } })).toBe(false);
  });

  it.each<[string, Partial<FollowedDecision>]>([
    ['musterd reject takes back what has not left.', { fates: { coming: 58 } }],
    ['musterd undo sets back what a run has sent.', { fates: { sent: 58 }, ...sent }],
    [
      'musterd reject takes back what has not left. musterd undo sets back what a run has sent.',
      { decision: 'mirror', fates: { sent: 31, coming: 27 }, ...sent },
    ],
    ['musterd resolve --take mirror sends it all the same.', { decision: 'reject', fates: { kept: 58 } }],
    ['', { decision: 'withdraw', fates: { kept: 58 } }],
    ['', { decision: 'value', rows: 1, fates: { coming: 1 } }],
  ])('names the commands that go back: %s', (words, more) => {
    const html = card({ why: null, ...more });
    expect(textOf(/<p class="note">(.*?)<\/p>/s.exec(html)?.[1] ?? '')).toBe(words);
  });

  it('says that it follows the first ones where there are more', () => {
    const html = card({ rows: 1_000, isMore: true, fates: { sent: 998, moved: 2 }, ...sent });
    expect(said(html).words).toBe(
      'More than 1,000 approved by you at 14:33:02. Among the first 1,000: 998 were sent in run 4,824 and are confirmed since 14:33:05; 2 were edited again or taken back meanwhile.',
    );
  });

  it('shows no value where details are off', () => {
    const value = { decision: 'value', rows: 1, fates: { sent: 1 }, ...sent } as const;
    const html = card(value, undefined, { ...context, details: false });
    expect(said(html).words).toContain('Phone set to not shown by you');
    expect(html).not.toMatch(/Ngozi|417941/);
  });

  it('leads to what it names', () => {
    const links = (more: Partial<FollowedDecision>) =>
      [...card(more).matchAll(/href="([^"]*)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'));
    expect(
      links({
        fates: { sent: 50, edited: 2, refused: 6 },
        ...sent,
        waitsIn: [{ batch: '5f0c', state: 'limit' }],
      }),
    ).toEqual([
      '/runs/4824',
      '/waiting/5f0c',
      '/waiting?state=refused',
      '/changes?decision=12&direction=pushed',
      '/waiting',
    ]);
    expect(links({ fates: { waits: 58 }, waitsIn: [{ batch: null, state: 'conflict' }] })[0]).toBe(
      '/waiting?state=conflict',
    );
    const both = [
      { batch: null, state: 'conflict' },
      { batch: '5f0c', state: 'limit' },
    ] as const;
    expect(links({ fates: { waits: 58 }, waitsIn: both })[0]).toBe('/waiting');
    expect(links({ decision: 'service', fates: { kept: 58 } })).toContain(
      '/changes?decision=12&direction=pulled',
    );
    expect(links({ decision: 'reject', fates: { kept: 58 } })).toContain(
      '/changes?decision=12&direction=decided',
    );
  });
});

describe('decided last', () => {
  it('has a row for each decision, with what became of it', () => {
    const other = { ...approved, number: 9n, by: 'm.okoye', at: clock('13:20:00') };
    const all = [
      { ...approved, fates: { sent: 56, edited: 2 }, ...sent },
      { ...other, decision: 'reject', fates: { moved: 58 } } as const,
    ];
    const html = decidedLast(context, all).toString();
    const rows = [...html.matchAll(/<tr role="row" class="">(.*?)<\/tr>/gs)].map(([, row = '']) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => textOf(cell)),
    );
    expect(rows).toEqual([
      [
        '14:33',
        'you',
        '58 approved',
        '56 were sent in run 4,824 and are confirmed since 14:33:05; 2 were edited meanwhile and wait again',
      ],
      ['13:20', 'm.okoye', '58 rejected', 'They were edited again or taken back meanwhile'],
    ]);
    expect(decidedLast({ ...context, team: null }, all).toString()).toContain('>harbour<');
    expect(decidedLast(context, []).toString()).toBe('');
  });
});

describe('what was decided', () => {
  it.each(fates)('has left where it is %s, or not', (fate) => {
    expect(hasNotLeft({ [fate]: 1 })).toBe(!['sent', 'leaving', 'asked', 'refused'].includes(fate));
  });
});
