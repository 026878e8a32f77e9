/** The settings of the status server and its page. */
import { z } from 'zod';
import { flag, longSecret, oneOf, text, upTo } from './values.ts';

export const statusSettings = {
  port: upTo(65_535)
    .default(0)
    .describe(
      'Port of the status server: the page at /, and /healthz, /readyz, /freshness and /metrics. 0: off.',
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
      'People who see the page, by name. tokenFile (or token) has the password; may is look or decide. By default only this machine sees the page, and nobody decides there.',
    ),
  details: flag.default(false).describe('Show names, emails and phones on the page. false: only ids.'),
};
