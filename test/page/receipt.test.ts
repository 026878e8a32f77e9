/** What is said of a decision, state by state: the parts add up to the first number. */
import { describe, expect, it } from 'vitest';
import type { DecidedPart, FollowedDecision } from '../../src/page/read/page-decided.ts';
import type { Sending } from '../../src/page/read/page-waiting.ts';
import { confirmation } from '../../src/page/render/question.ts';
import { decidedLast, receiptCard } from '../../src/page/render/receipt.ts';
import type { PageContext } from '../../src/page/render/view.ts';
import { contextOf, textOf } from './page-context.ts';

const clock = (time: string) => new Date(`2026-03-11T${time}Z`);
const context: PageContext = {
  ...contextOf('/waiting', 'done=12'),
  now: clock('14:33:10'),
  decide: { actor: 'kim', token: () => 'secret', barred: null },
};
const part = (
  rows: number,
  state: DecidedPart['state'],
  detail: string | null = null,
  reason: DecidedPart['reason'] = null,
) => ({
  rows,
  state,
  detail,
  reason,
});
const approved: FollowedDecision = {
  number: 12n,
  teamId: 41n,
  at: clock('14:33:02'),
  deed: 'approve',
  by: 'kim',
  why: 'new switchboard numbers',
  batch: '5f0c',
  rows: 58,
  isMore: false,
  fields: ['phone'],
  name: 'Ngozi Costa',
  value: '41794100348',
  parts: [part(58, 'waiting')],
  runs: [],
};
const daemon: Sending = { listens: true, nextRun: clock('14:35:00') };
const card = (more: Partial<FollowedDecision>, sending = daemon, of = context) =>
  receiptCard(of, { ...approved, ...more }, sending).toString();
const iconOf = (html: string) =>
  ({ 'M5 8.2': 'tick', 'M8 4.4': 'clock', 'M8 1.4': 'half', 'M8 1.6': 'alarm' })[
    /d="(M\d [\d.]+)/.exec(html)?.[1] ?? ''
  ] ?? 'dashed';

describe('receiptCard', () => {
  it.each<[string, Partial<FollowedDecision>, string]>([
    ['clock', {}, '58 phone numbers approved by you at 14:33:02. 58 waiting. The daemon begins with it now.'],
    [
      'half',
      { parts: [part(31, 'confirmed'), part(27, 'sending')], runs: [4824n] },
      '58 phone numbers approved by you at 14:33:02. 31 confirmed; 27 being sent. Run 4,824',
    ],
    [
      'alarm',
      {
        parts: [
          part(55, 'confirmed'),
          part(2, 'held', 'the service has another one (batch 77)', 'conflict'),
          part(1, 'held', null, 'refused'),
        ],
      },
      '55 confirmed; 3 need a decision (changed on both sides: the service has another one (batch 77); refused by the service).',
    ],
    [
      'dashed',
      { parts: [part(58, 'unknown', 'it was sent, and no answer came: a run reads it back')] },
      '58 outcome not known yet (it was sent, and no answer came: a run reads it back). The next run is at 14:35.',
    ],
    [
      'tick',
      { parts: [part(56, 'confirmed'), part(2, 'ended', 'somebody has edited the field again')] },
      '56 confirmed; 2 no longer wanted (somebody has edited the field again).',
    ],
    [
      'tick',
      { deed: 'service', rows: 37, parts: [part(37, 'confirmed')], by: 'office for kim' },
      '37 phone numbers to be as on the service by you at 14:33:02. 37 confirmed.',
    ],
    [
      'tick',
      { deed: 'withdraw', fields: ['email', 'phone'], parts: [part(58, 'ended')], by: 'm.okoye' },
      '58 fields (email and phone) put back to what both sides last agreed on by m.okoye at',
    ],
    [
      'clock',
      { deed: 'value', rows: 1, parts: [part(1, 'waiting')] },
      'Phone of Ngozi Costa set to 41794100348 by you at 14:33:02. 1 waiting.',
    ],
  ])('shows the outcome of decided fields by the icon "$0" and the sentence "$2"', (shape, more, words) => {
    const html = card(more);
    expect([iconOf(html), textOf(html)]).toEqual([shape, expect.stringContaining(words)]);
  });

  it('names the time of the next run, or the command reconcile if no daemon runs', () => {
    expect(textOf(card({}, { listens: false, nextRun: null }))).toContain(
      'No daemon runs, so nothing is sent before somebody begins one, or: musterd reconcile',
    );
    const later = { ...context, now: clock('14:36:00') };
    expect(textOf(card({}, { listens: true, nextRun: clock('14:40:00') }, later))).toContain(
      'The next run is at 14:40.',
    );
  });

  it('reloads while decided fields wait for a daemon to send them, for at most ten minutes after the decision', () => {
    const isFollowed = (more: Partial<FollowedDecision>, listens = true, now = context.now) =>
      card(more, { listens, nextRun: null }, { ...context, now }).includes('data-live');
    expect([isFollowed({}), isFollowed({ parts: [part(58, 'sending')] })]).toEqual([true, true]);
    expect([isFollowed({}, false), isFollowed({}, true, clock('14:44:00'))]).toEqual([false, false]);
    expect(isFollowed({ parts: [part(58, 'confirmed')] })).toBe(false);
  });

  it.each<[string, Partial<FollowedDecision>]>([
    ['musterd reject 5f0c takes back what has not left.', {}],
    [
      'musterd resolve --batch 5f0c --take mirror sends it all the same.',
      { deed: 'reject', parts: [part(58, 'rejected')] },
    ],
    ['', { deed: 'withdraw', parts: [part(58, 'ended')] }],
  ])('shows the command that reverses the decision, or an empty note: "%s"', (words, more) => {
    const html = card({ why: null, ...more });
    expect(textOf(/<p class="note">(.*?)<\/p>/s.exec(html)?.[1] ?? '')).toBe(words);
  });

  it('offers to take back the first run that sent a value, but only to a login that may decide', () => {
    const runs = [4824n, 4825n];
    // Who may is said above the list.
    const sent = { parts: [part(58, 'confirmed')], runs };
    const barred = { actor: 'bo', token: () => '', barred: 'You may look.' };
    const forms = (more: Partial<FollowedDecision>, of = context) =>
      [...card(more, daemon, of).matchAll(/name="run" value="(\d+)"/g)].map(([, run]) => run);
    expect([forms(sent), forms({ runs }), forms(sent, { ...context, decide: barred })]).toEqual([
      ['4824'],
      [],
      [],
    ]);
    expect(card(sent, daemon, { ...context, decide: barred })).not.toContain('You may look.');
  });

  it('hides names and values if details are off', () => {
    const value = { deed: 'value', rows: 1, parts: [part(1, 'confirmed')] } as const;
    const html = card(value, daemon, { ...context, details: false });
    expect(textOf(html)).toContain('Phone set to not shown by you');
    expect(html).not.toMatch(/Ngozi|417941/);
    const held = part(1, 'held', 'the split of "Ngozi Costa" is a guess', 'unsupported');
    const why = (details: boolean) => textOf(card({ parts: [held] }, daemon, { ...context, details }));
    expect(why(true)).toContain('(cannot be sent: the split of "Ngozi Costa" is a guess)');
    expect(why(false)).toContain('(cannot be sent: the split of a value that is not shown is a guess)');
  });

  it('links to the fields that wait for a decision again, and to the changed values', () => {
    const links = (...parts: readonly DecidedPart[]) =>
      [...card({ parts }).matchAll(/href="([^"]*)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'));
    const conflict = part(29, 'held', null, 'conflict');
    expect(links(conflict)).toEqual(['/waiting?state=conflict', '/changes?decision=12', '/waiting']);
    expect(links(conflict, part(29, 'held', null, 'limit'))[0]).toBe('/waiting');
  });
});

describe('the confirmation page of a decision', () => {
  const sides = { mirror: '1', service: '1', base: '2', editedBy: null, editedAt: null };
  const row = { teamId: 41n, userId: 7n, name: 'Ada', field: 'phone', ...sides };
  const ask = (verb: 'undo' | 'approve', number: number, sending: Sending) => {
    const rows = Array.from({ length: number }, () => row);
    const question = { verb, rows, number, all: number, besides: '', values: {}, back: '/', sending };
    return confirmation(context, question).main.toString();
  };

  it('lists at most 1,000 fields, and states the number of all fields', () => {
    const html = ask('undo', 1_001, daemon);
    expect(html.split('<tr role="row"').length - 2).toBe(1_000);
    expect(textOf(html)).toContain('The first 1,000 of 1,001');
  });

  it.each([
    [true, 'Sent at once, by the daemon, in 1 request'],
    [false, 'Sent by the next run, in 1 request; no daemon runs'],
  ])('names the login, and sending at once or by the next run (daemon runs: %s)', (listens, words) => {
    const text = textOf(ask('approve', 2, { ...daemon, listens }));
    expect(text).toContain(words);
    expect(text).toContain('Recorded as kim, with the reason.');
  });
});

it('decidedLast lists each decision in a row with time, login, fields and outcome', () => {
  const other = { ...approved, number: 9n, by: 'm.okoye', at: clock('13:20:00'), deed: 'reject' as const };
  const html = decidedLast(context, [
    { ...approved, parts: [part(58, 'confirmed')] },
    { ...other, parts: [part(58, 'ended')] },
  ]).toString();
  const rows = [...html.matchAll(/<tr role="row" class="">(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => textOf(cell)),
  );
  expect(rows).toEqual([
    ['14:33', 'you', '58 phone numbers approved', '58 confirmed'],
    ['13:20', 'm.okoye', '58 phone numbers rejected', '58 no longer wanted'],
  ]);
  expect(decidedLast({ ...context, team: null }, [approved]).toString()).toContain('>harbour<');
  expect(decidedLast(context, []).toString()).toBe('');
});
