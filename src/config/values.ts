/** The kinds of values that a setting can have. */
import { z } from 'zod';
import { isZone } from '../model/zone-time.ts';

function inComplaint(value: unknown): string {
  if (value === undefined || value === null || value === '') return 'nothing';
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a mapping';
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value as number | boolean);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** Names the expected and the given value. Not for values that can be secret, because it shows them. */
export const instead = (expected: string, value: unknown) => `${expected}, not ${inComplaint(value)}`;
const expecting = (expected: string) => (issue: { readonly input?: unknown }) =>
  instead(expected, issue.input);

export const oneOf = <const Words extends readonly [string, ...string[]]>(...words: Words) =>
  z.enum(words, { error: expecting(`one of ${words.join(', ')}`) });

export const conflictPolicy = oneOf('hold', 'service-wins', 'mirror-wins');

/** Accepts a number, or a number as text, as the environment gives it. Rejects other text, and empty text. */
const numeric = (error: ReturnType<typeof expecting>) =>
  z.union(
    [
      z.number(),
      z
        .string()
        .regex(/^-?\d+(\.\d+)?$/, { error })
        .transform(Number),
    ],
    { error },
  );

function wholeNumber(from: number, to?: number) {
  const error = expecting('a whole number');
  const range = expecting(
    `a whole number ${to === undefined ? `of at least ${from}` : `from ${from} to ${to}`}`,
  );
  const number = z.number().int({ error }).min(from, { error: range });
  return numeric(error).pipe(to === undefined ? number : number.max(to, { error: range }));
}

export const whole = numeric(expecting('a whole number')).pipe(
  z.number().int({ error: expecting('a whole number') }),
);
/** Milliseconds for a timer, below 2^31: Node fires a longer timer immediately. */
export const milliseconds = (least: number) => wholeNumber(least, 2 ** 31 - 1);
export const atLeastZero = wholeNumber(0);
export const positive = wholeNumber(1);
export const upTo = (most: number) => wholeNumber(0, most);
export const positiveUpTo = (most: number) => wholeNumber(1, most);

/** A number of days as text, such as `90 days`, or `forever`. */
export const days = z.union(
  [
    z
      .string()
      .regex(/^([1-9]\d{0,4} ?(d|days?)?|forever)$/, 'a number of days such as 90d, or forever, is expected'),
    z
      .number()
      .int()
      .min(1)
      .max(99_999)
      .transform((count) => `${count} days`),
  ],
  { error: expecting('a number of days such as 90, 90d or "90 days", or forever') },
);

/** A share of a whole. */
function shareUpTo(most: number) {
  const error = expecting(`a number from 0 to ${most}`);
  return numeric(expecting('a number')).pipe(z.number().min(0, { error }).max(most, { error }));
}
export const share = shareUpTo(1);
const someError = expecting('a number above 0 and at most 1');
export const someShare = numeric(expecting('a number')).pipe(
  z.number().gt(0, { error: someError }).max(1, { error: someError }),
);

/** Accepts only text, because a number would lose leading zeros and, above 2^53, its last digits. */
export const secret = z
  .string('text is expected: write it in quotes')
  .trim()
  .min(1, 'text is expected, but it is empty')
  .refine(
    (given) => !/[\p{Cc}\uFFFD]/u.test(given),
    'it has control characters, or is not UTF-8. Save it as text in UTF-8',
  );
/** A secret that is too long to be guessed. */
export const longSecret = secret.pipe(z.string().min(16, 'at least 16 characters'));
export const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')], {
  error: expecting('true or false'),
});
export const text = z.string('text is expected').trim().min(1, 'text is expected, but it is empty');
export const zone = text.refine(isZone, 'the name of a time zone is expected, such as Europe/Berlin');
/** Text, or a number, because people write words that look like numbers without quotes. */
export const word = z.union([text, z.number().transform(String)], { error: expecting('text') });

/** Its fields are in interface.md, Shared pagination body. Other fields are rejected. */
export const paginationBody = z.strictObject({
  archived: z.boolean().optional(),
  ascending: z.boolean().optional(),
  assigned: z.int().optional(),
  date: z.string().optional(),
  filter: z.string().optional(),
  filters: z.record(z.string(), z.unknown()).optional(),
  id: z.int().optional(),
  limit: z.int().optional(),
  order: z.string().optional(),
  page: z.int().optional(),
  parent_id: z.int().optional(),
});
