/** Words for numbers and times, and safe display of texts that musterd did not write. */
import { type Html, html } from './html.ts';
import { dayMs, hourMs, minuteMs, showClock, showDay, shownZone } from '../../model/zone-time.ts';

const numbers = new Intl.NumberFormat('en-US');

export const count = (value: number | bigint): string => numbers.format(value);

/** `3 users`, `1 user`, `4,821 users`. */
export const many = (value: number | bigint, single: string, more = `${single}s`): string =>
  `${count(value)} ${Number(value) === 1 ? single : more}`;

/** With a sign: `+774`, `−365`, `0`. */
export function difference(value: number | bigint): string {
  if (Number(value) === 0) return '0';
  return value > 0 ? `+${count(value)}` : `−${count(-Number(value))}`;
}

/** `27 minutes`, `22 hours`, `3 days`, never in two units. */
export function span(ms: number): string {
  const length = Math.abs(ms);
  if (length < minuteMs) return many(Math.round(length / 1_000), 'second');
  if (length < hourMs) return many(Math.floor(length / minuteMs), 'minute');
  if (length < 2 * dayMs) return many(Math.floor(length / hourMs), 'hour');
  return many(Math.floor(length / dayMs), 'day');
}

/** The distance of a time from now, short enough for a table: `2 min ago`, `in 8 min`, `just now`. */
export function distance(date: Date, now: Date): string {
  const ms = now.getTime() - date.getTime();
  if (Math.abs(ms) < 2_000) return 'just now';
  const words = span(ms).replace(/ (second|minute)s?$/, (_, unit: string) =>
    unit === 'second' ? ' s' : ' min',
  );
  return ms < 0 ? `in ${words}` : `${words} ago`;
}

/** `1.4 s`, `31 s`, `4 min 10 s`. */
export function took(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < minuteMs) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / minuteMs)} min ${Math.round((ms % minuteMs) / 1_000)} s`;
}

const part = (options: Intl.DateTimeFormatOptions) => {
  const made = new Map<string, Intl.DateTimeFormat>();
  return (date: Date) => {
    const zone = shownZone();
    const format = made.get(zone) ?? new Intl.DateTimeFormat('en-GB', { timeZone: zone, ...options });
    made.set(zone, format);
    return format.format(date);
  };
};
const minutes = part({ hour: '2-digit', minute: '2-digit' });
const seconds = part({ hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dayOfYear = part({ day: 'numeric', month: 'short' });
const dayOfAnyYear = part({ day: 'numeric', month: 'short', year: 'numeric' });
const longWeekday = part({ weekday: 'long' });

const isSameDay = (a: Date, b: Date): boolean => showDay(a) === showDay(b);

/** `11 Mar`, with the year if it is not the present year. */
export function day(date: Date, now: Date): string {
  const isSameYear = showDay(date).slice(0, 4) === showDay(now).slice(0, 4);
  return isSameYear ? dayOfYear(date) : dayOfAnyYear(date);
}

/** `14:21`; `10 Mar 16:40` for another day. */
export function clockTime(date: Date, now: Date, precise = false): string {
  const time = precise ? seconds(date) : minutes(date);
  return isSameDay(date, now) ? time : `${day(date, now)} ${time}`;
}

/** `10:02 to 10:05`, or a single time if both are the same. */
export function fromTo(from: Date, until: Date, now: Date): string {
  const [first, last] = [clockTime(from, now), clockTime(until, now)];
  return first === last ? first : `${first} to ${last}`;
}

/** `Today, Wednesday 11 Mar`: the band above the rows of a day. */
export function dayBand(date: Date, now: Date): string {
  const name = `${longWeekday(date)} ${day(date, now)}`;
  if (isSameDay(date, now)) return `Today, ${name}`;
  return isSameDay(date, new Date(now.getTime() - dayMs)) ? `Yesterday, ${name}` : name;
}

export const exactTime = (date: Date): string => `${showDay(date)} ${showClock(date)} ${shownZone()}`;

/** A moment in these words, with the exact time in its `title`. */
export const time = (date: Date, words: string): Html =>
  html`<time datetime="${date.toISOString()}" title="${exactTime(date)}">${words}</time>`;

export const ago = (date: Date, now: Date): Html => time(date, distance(date, now));
export const at = (date: Date, now: Date, precise = false): Html => time(date, clockTime(date, now, precise));

/** Characters that move, hide or reorder text. `joiners` has the exceptions, for some scripts and emoji. */
const hidden = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const hiddenParts = /([\p{Cc}\p{Cf}\p{Zl}\p{Zp}])/u;
const joiners: ReadonlySet<string> = new Set(['\u200c', '\u200d']);

function markOf(character: string): Html {
  const code = character.codePointAt(0) ?? 0;
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  const picture = code < 0x20 ? String.fromCodePoint(0x2400 + code) : name;
  return html`<span class="mark" title="control character ${name}">${picture}</span>`;
}

/** A text that musterd did not write, in which marks replace hidden characters. */
export function visible(text: string): Html {
  const formed = text.toWellFormed();
  if (!hidden.test(formed)) return html`${formed}`;
  const parts = formed.split(hiddenParts).filter((part) => part !== '');
  return html`${parts.map((part) => (hidden.test(part) && !joiners.has(part) ? markOf(part) : html`${part}`))}`;
}

/** A name, isolated from the text around it, because it can run in either direction. */
export const named = (text: string): Html => html`<bdi class="name">${visible(text)}</bdi>`;

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function listed(words: readonly string[]): string {
  return words.length < 2 ? (words[0] ?? '') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}
