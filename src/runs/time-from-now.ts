import { MusterdError } from '../errors.ts';
import { momentMs, type TimeFromNow } from '../model/moment.ts';

const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Reads a moment, in UTC unless it has a zone, or a duration such as 2h. @throws MusterdError `usage` */
export function readTimeFromNow(option: string, text: string): TimeFromNow {
  const [, count, unit = ''] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return { seconds: Number(count) * (secondsPer[unit] ?? 1) };
  const ms = momentMs(text);
  if (Number.isNaN(ms))
    throw new MusterdError(
      'usage',
      `${option} "${text}" is neither a time such as 2026-03-01T09:00Z nor a duration such as 2h or 3d`,
    );
  return { moment: new Date(ms).toISOString() };
}
