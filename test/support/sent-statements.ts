import { createPostgresProxy } from './postgres-proxy.ts';

/** What was sent to Postgres: one text for each round trip, transaction control included. */
export interface SentStatements {
  /** Of the same database; only what is sent to this one is seen. */
  readonly url: string;
  /** What was sent since it was asked last. */
  take(): readonly string[];
  close(): Promise<void>;
}

/** The text of a question: a simple query (Q), or the statement of the extended protocol (P), which has a name first. */
function readText(message: Buffer): string | undefined {
  const kind = message.toString('latin1', 0, 1);
  if (kind !== 'Q' && kind !== 'P') return undefined;
  const [name = '', text = ''] = message.toString('utf8', 5).split('\0');
  return (kind === 'Q' ? name : text).replaceAll(/\s+/g, ' ').trim();
}

export async function countStatements(url: string): Promise<SentStatements> {
  const target = new URL(url);
  let seen: string[] = [];
  const nothing = () => undefined;
  const proxy = await createPostgresProxy(
    { host: target.hostname, port: Number(target.port) },
    undefined,
    nothing,
    nothing,
    (message) => {
      const text = readText(message);
      if (text !== undefined) seen.push(text);
    },
  );
  target.hostname = '127.0.0.1';
  target.port = String(proxy.port);
  return {
    url: target.href,
    take: () => {
      const taken = seen;
      seen = [];
      return taken;
    },
    close: () => proxy.close(),
  };
}
