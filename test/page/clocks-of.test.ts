import { expect, it } from 'vitest';
import { beginOfDay, clocksOf, offsetName } from '../../src/page/render/clocks-of.ts';

const at = (text: string) => new Date(text);

it.each([
  ['Europe/Zurich', '2026-03-11T14:32:07Z', '2026-03-11T15:32:07.000Z', 'UTC+1', '2026-03-10T23:00:00.000Z'],
  ['Europe/Zurich', '2026-07-11T22:30:00Z', '2026-07-12T00:30:00.000Z', 'UTC+2', '2026-07-11T22:00:00.000Z'],
  // The clocks were changed at 02:00.
  ['Europe/Zurich', '2026-03-29T10:00:00Z', '2026-03-29T12:00:00.000Z', 'UTC+2', '2026-03-28T23:00:00.000Z'],
  [
    'America/St_Johns',
    '2026-01-01T02:00:00Z',
    '2025-12-31T22:30:00.000Z',
    'UTC-3:30',
    '2025-12-31T03:30:00.000Z',
  ],
  ['UTC', '2026-03-11T14:32:07Z', '2026-03-11T14:32:07.000Z', 'UTC', '2026-03-11T00:00:00.000Z'],
  ['Not/A_Zone', '2026-03-11T14:32:07Z', '2026-03-11T14:32:07.000Z', 'UTC', '2026-03-11T00:00:00.000Z'],
])('in %s at %s', (zone, now, shown, offset, began) => {
  expect(clocksOf(zone)(at(now)).toISOString()).toBe(shown);
  expect(offsetName(zone, at(now))).toBe(offset);
  expect(beginOfDay(zone, at(now)).toISOString()).toBe(began);
});
