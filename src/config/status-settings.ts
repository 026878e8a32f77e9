/** The settings of the status server and its page. */
import { flag, longSecret, text, upTo } from './values.ts';

export const statusSettings = {
  port: upTo(65_535)
    .default(0)
    .describe(
      'Port of the status server: the page at /, and /healthz, /readyz, /freshness, /metrics, /hooks. 0: off.',
    ),
  host: text.default('127.0.0.1').describe('Address that the status server listens on.'),
  token: longSecret
    .optional()
    .describe(
      'Anyone who enters it as the password sees the page, under any name or under status.user alone. Without a token, only this machine does.',
    ),
  tokenFile: text.optional().describe('File that contains the token.'),
  user: text
    .optional()
    .describe('Name of the only person who sees the page, with the token as the password.'),
  details: flag.default(false).describe('Show names, emails and phones on the page. false: only ids.'),
  decide: flag
    .default(false)
    .describe(
      'Approve, reject and resolve on the page, too. Needs a token; with push.fourEyes also status.user.',
    ),
};
