/** The settings of the status server and its page. */
import { z } from 'zod';
import { flag, longSecret, oneOf, text, upTo } from './values.ts';

export const statusSettings = {
  port: upTo(65_535)
    .default(0)
    .describe(
      'Port of the status server, which has the page at /, and /healthz, /readyz, /freshness and /metrics. If 0, musterd starts no status server.',
    ),
  host: text.default('127.0.0.1').describe('Address that the status server listens on.'),
  people: z
    .record(
      z.string(),
      z.strictObject({
        token: longSecret.optional(),
        tokenFile: text.optional(),
        may: oneOf('look', 'decide').default('look'),
      }),
    )
    .default({})
    .describe(
      'People who can see the page, by name. tokenFile (or token) has the password of a person; may is look or decide. By default, only clients on this machine see the page, and nobody can decide there.',
    ),
  details: flag
    .default(false)
    .describe('If true, the page shows names, emails and phones of users. If false, it shows only ids.'),
};
