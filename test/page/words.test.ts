import { describe, expect, it, onTestFinished } from 'vitest';
import { showTimesIn } from '../../src/model/zone-time.ts';
import { html } from '../../src/page/render/html.ts';
import { commandOf, href, to } from '../../src/page/render/links.ts';
import { quoted } from '../../src/model/in-words.ts';
import {
  clockTime,
  dayBand,
  difference,
  distance,
  exactTime,
  listed,
  many,
  named,
  span,
  took,
  visible,
} from '../../src/page/render/words.ts';

const now = new Date('2026-03-11T14:32:07Z');
const earlier = (ms: number) => new Date(now.getTime() - ms);
const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];

describe('times, numbers and names on the page', () => {
  it('writes durations, and times until or since a moment, in seconds, minutes, hours or days', () => {
    expect(
      [1_000, 9_000, 2 * minute, 119 * minute, 47 * hour, 3 * day].map((ms) => distance(earlier(ms), now)),
    ).toEqual(['just now', '9 s ago', '2 min ago', '1 hour ago', '47 hours ago', '3 days ago']);
    expect(distance(earlier(-8 * minute), now)).toBe('in 8 min');
    expect(span(27 * minute)).toBe('27 minutes');
    expect([900, 1_400, 250_000].map(took)).toEqual(['900 ms', '1.4 s', '4 min 10 s']);
  });

  it('adds the day to a time on another day, and the year to a time in another year', () => {
    expect(clockTime(earlier(hour), now)).toBe('13:32');
    expect(clockTime(earlier(day), now, true)).toBe('10 Mar 14:32:07');
    expect(clockTime(earlier(200 * day), now)).toBe('23 Aug 2025 14:32');
    expect([0, day, 2 * day, 200 * day].map((ms) => dayBand(earlier(ms), now))).toEqual([
      'Today, Wednesday 11 Mar',
      'Yesterday, Tuesday 10 Mar',
      'Monday 9 Mar',
      'Saturday 23 Aug 2025',
    ]);
  });

  it('formats times and days in display.timezone, also around midnight', () => {
    onTestFinished(() => showTimesIn('UTC'));
    showTimesIn('Pacific/Auckland');
    expect(exactTime(now)).toBe('2026-03-12 03:32:07 Pacific/Auckland');
    expect([clockTime(earlier(hour), now), clockTime(earlier(4 * hour), now)]).toEqual([
      '02:32',
      '11 Mar 23:32',
    ]);
    expect(dayBand(earlier(4 * hour), now)).toBe('Yesterday, Wednesday 11 Mar');
    expect(clockTime(new Date('2025-12-31T12:00Z'), now)).toBe('1 Jan 01:00');
  });

  it('writes counts with their noun, differences with their sign, and lists with "and"', () => {
    expect([many(1, 'run'), many(4_821n, 'run')]).toEqual(['1 run', '4,821 runs']);
    expect([difference(774), difference(-365), difference(0n)]).toEqual(['+774', '−365', '0']);
    expect([listed([]), listed(['a']), listed(['a', 'b', 'c'])]).toEqual(['', 'a', 'a, b and c']);
  });

  it('marks characters that hide or reverse a text, and keeps joiners that a script needs (S29)', () => {
    expect(visible('a<b').toString()).toBe('a&lt;b');
    expect(visible('\u001B[31m').toString()).toContain('>␛</span>[31m');
    expect(visible('a\u202Eb').toString()).toContain('title="control character U+202E">U+202E</span>b');
    expect(visible('क\u094D\u200Dष').toString()).toBe('क\u094D\u200Dष');
    expect(visible('\uD800').toString()).toBe('\uFFFD');
    expect(named('\u05E9').toString()).toBe('<bdi class="name">\u05E9</bdi>');
  });
});

describe('html', () => {
  it('escapes a value once, omits null, undefined and false, and rejects a promise', () => {
    const inner = html`<b>${'"&<'}</b>`;
    expect(html`${[inner, 'x']}${null}${undefined}${false}${0}`.toString()).toBe('<b>&quot;&amp;&lt;</b>x0');
    expect(() => html`${Promise.resolve('x')}`).toThrow('a promise is no part of a page');
  });
});

describe('links and commands on the page', () => {
  const context = { path: '/runs', query: new URLSearchParams('team=north&page=3&sort=-when') };
  it('a link keeps the chosen team, but drops the page number', () => {
    expect(href(context, { open: '7', sort: null })).toBe('/runs?team=north&open=7');
    expect(to(context, '/waiting')).toBe('/waiting?team=north');
  });

  it('a command names the team, quoted for a shell, if there are several teams, and no team otherwise', () => {
    const team = (name: string) => ({ team: name, teamId: 1n, name });
    expect(commandOf({ teams: [team('a')] }, 'a', 'held')).toBe('musterd held');
    expect(commandOf({ teams: [team('a'), team('b')] }, "o'x y", 'held')).toBe(
      "musterd --team 'o'\\''x y' held",
    );
    expect(quoted('north-1')).toBe('north-1');
  });
});
