import { expect, it } from 'vitest';
import { readAssets } from '../../src/page/assets.ts';

const assets = readAssets();
const style = String(assets.get('style.css')?.body);
const letters = String(assets.get('letters.css')?.body);
const faces = [...letters.matchAll(/@font-face \{.*?url\(\.\/([^)]+)\).*?unicode-range:([^;]+);/gs)];

/** Whether a letter is in `U+0100-02BA, U+20AC`. */
const hasLetter = (ranges: string, letter: string) =>
  ranges.split(',').some((range) => {
    const [from = '', to = from] = range.trim().replace('U+', '').split('-');
    const code = letter.codePointAt(0) ?? 0;
    return code >= parseInt(from, 16) && code <= parseInt(to, 16);
  });

it.each([
  ['Latin', 'aé€'],
  ['extended Latin', 'łő'],
  ['Cyrillic', 'Вя'],
  ['extended Cyrillic', 'ѣ'],
  ['Greek', 'Ελέ'],
  ['polytonic Greek', 'ἀ'],
  ['Vietnamese', 'ễơạ'],
])('the page ships a web font with the letters of %s', (_, letters) => {
  for (const letter of letters) {
    const files = faces.filter(([, , ranges = '']) => hasLetter(ranges, letter)).map(([, file = '']) => file);
    expect([letter, files.length > 0]).toEqual([letter, true]);
    for (const file of files) expect(assets.get(file)).toMatchObject({ type: 'font/woff2', isFont: true });
  }
});

it('the style sheet sets digits of equal width only in table columns and times', () => {
  expect(/body \{[^}]*\}/.exec(style)?.[0]).not.toContain('tabular-nums');
  expect(/([^}]*)\{[^}]*tabular-nums/.exec(style)?.[1]).toMatch(/td,\s*time,/);
});

it('the page serves its manual as plain text', () => {
  expect(assets.get('guide.md')?.type).toBe('text/plain; charset=utf-8');
  expect(String(assets.get('guide.md')?.body)).toMatch(/^# /);
});
