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
  token: longSecret
    .optional()
    .describe(
      'Anyone who enters it as the password sees the page, under any name. Without a token and without people, only this machine does.',
    ),
  tokenFile: text.optional().describe('File that contains the token.'),
  people: z
    .record(
      text,
      z.strictObject({
        token: longSecret.optional(),
        tokenFile: text.optional(),
        may: oneOf('look', 'decide').default('look'),
      }),
    )
    .default({})
    .describe(
      'Who sees the page as themselves, by name: tokenFile (or token) has the password, may says what they may do, which is to look or to decide. Then nobody else decides there.',
    ),
  details: flag.default(false).describe('Show names, emails and phones on the page. false: only ids.'),
  decide: flag
    .default(false)
    .describe(
      'Approve, reject and resolve on the page, too. Needs a token, or people; with push.fourEyes people.',
    ),
};
