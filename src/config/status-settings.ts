/** The settings of the status server and its page. */
import { z } from 'zod';
import { flag, secret, text, upTo } from './values.ts';

export const statusSettings = {
  port: upTo(65_535)
    .default(0)
    .describe(
      'Port of the status server: the page at /, and /healthz, /readyz, /freshness, /metrics, /hooks. 0: off.',
    ),
  host: text.default('127.0.0.1').describe('Address that it listens on.'),
  token: secret
    .pipe(z.string().min(16, 'at least 16 characters'))
    .optional()
    .describe(
      'Whoever gives it as the password, under any name, sees the page. Without it or a password, only this machine does.',
    ),
  user: text.optional().describe('Name of the only one who sees the page, in place of a token.'),
  password: secret.optional().describe('Their password. Better in a file.'),
  passwordFile: text.optional().describe('File that holds it.'),
  details: flag.default(false).describe('Show names, emails and phones on the page. false: ids alone.'),
  decide: flag
    .default(false)
    .describe('Approve, reject and resolve on the page, too. Asks for a token, or a user with a password.'),
};
