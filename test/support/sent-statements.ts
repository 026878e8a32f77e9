import { type SeenMessages, seeMessages } from './postgres-proxy.ts';

/** What was sent to Postgres: one text for each round trip, transaction control included. */
export type SentStatements = SeenMessages<string>;

/** The text of a question: a simple query (Q), or the statement of the extended protocol (P), which has a name first. */
function readText(message: Buffer): string | undefined {
  const kind = message.toString('latin1', 0, 1);
  if (kind !== 'Q' && kind !== 'P') return undefined;
  const [name = '', text = ''] = message.toString('utf8', 5).split('\0');
  return (kind === 'Q' ? name : text).replaceAll(/\s+/g, ' ').trim();
}

export const countStatements = (url: string): Promise<SentStatements> =>
  seeMessages(url, 'questions', readText);
