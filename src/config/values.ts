/** The kinds of values that a setting can have. */
import { z } from 'zod';

export const conflictPolicy = z.enum(['hold', 'service-wins', 'mirror-wins']);
/** In the environment numbers are text; nothing else passes for one, and least of all nothing. */
export const numeric = z.union([
  z.number(),
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, 'a number is expected')
    .transform(Number),
]);
export const whole = numeric.pipe(z.number().int());
export const milliseconds = whole.pipe(z.number().min(0));
export const share = numeric.pipe(z.number().min(0).max(1));
export const positive = whole.pipe(z.number().min(1));
export const positiveUpTo = (most: number) => whole.pipe(z.number().min(1).max(most));
/** A number would lose its leading zeros and, past 2^53, its last digits. */
export const secret = z.string('text is expected: write it in quotes').trim().min(1);
export const flag = z.union([z.boolean(), z.enum(['true', 'false']).transform((word) => word === 'true')]);
export const text = z.string().trim().min(1);
/** A person writes numbers and words alike. */
export const word = z.union([text, z.number().transform(String)]);

/** interface.md, Shared pagination body; what it does not name is not sent. */
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

/** The fields of it that choose among the rows of a listing. */
export const listingFilter = paginationBody
  .pick({ archived: true, assigned: true, filter: true, filters: true, parent_id: true })
  .default({});
