import { MusterdError } from '../../errors.ts';

export const asksForPassword = 'it asks for the password or its MD5, and nothing proves that it is Postgres';

/** The SQLSTATE of an error from Postgres, or of its cause. */
export function sqlState(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    // System errors have a code too (`ECONNRESET`, `EPIPE`), but only errors from Postgres have a severity.
    if ('severity' in at && 'code' in at && typeof at.code === 'string') return at.code;
  }
  return undefined;
}

/** SQLSTATEs that make the connection useless, or each further statement fail, with hints for people. */
const OUT_OF_ORDER: Readonly<Record<string, string>> = {
  '25006':
    'It is read-only: a standby, or default_transaction_read_only is on. Point DATABASE_URL at the primary, or name all its hosts, with target_session_attrs=read-write.',
  '25P03': 'It ended a transaction that was idle for too long; the next run tries again.',
  '53100': 'Its disk is full. Free some space; the next run continues.',
  '53200': 'It is out of memory.',
  '53300': 'It has no free connection. Raise max_connections, or put PgBouncer in front of it.',
  '57P01': 'An administrator ended the connection, or it is shutting down.',
  '57P02': 'It crashed and is recovering.',
  '57P03': 'It is starting or shutting down. Try again in a moment.',
};

/** True if the connection must not go back to the pool after this error. */
export function spoilsConnection(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || state in OUT_OF_ORDER || state.startsWith('08');
}

/**
 * Makes the error of a statement for its caller. An error about the statement (a constraint, a lock, a
 * syntax error) is returned unchanged; an error because Postgres is away becomes a `MusterdError`.
 */
export function describeStatementError(error: unknown, shown: string): unknown {
  const state = sqlState(error);
  if (state !== undefined && !(state in OUT_OF_ORDER) && !state.startsWith('08')) return error;
  const words = error instanceof Error ? error.message : String(error);
  return new MusterdError('mirror', `Postgres at ${shown} failed during the work: ${words}`, {
    hint:
      (state === undefined ? undefined : OUT_OF_ORDER[state]) ?? 'Nothing was lost; run the command again.',
    cause: error,
  });
}

/** The SQLSTATE for a value that a trigger of the mirror refuses. */
export const checkViolation = '23514';

/** The SQLSTATEs for an unknown batch, user or field. */
export const unknownStates = ['P0002', '22023'] as const;

/** Turns a refusal by one of our own triggers or functions into a `usage` error, if it has one of these SQLSTATEs. */
export function describeRefusal(error: unknown, ...states: readonly string[]): unknown {
  if (!(error instanceof Error) || !states.includes(sqlState(error) ?? '')) return error;
  const hint = 'hint' in error && typeof error.hint === 'string' ? { hint: error.hint } : {};
  return new MusterdError('usage', error.message, { ...hint, cause: error });
}

/** The error for a caller who got no connection in time, because all were busy, although the server is up. */
export function noneFree(
  shown: string,
  { maxConnections, freeTimeoutMs }: { readonly maxConnections: number; readonly freeTimeoutMs: number },
): MusterdError {
  return new MusterdError(
    'mirror',
    `None of the ${maxConnections} connections to Postgres at ${shown} was free within ${freeTimeoutMs / 1000} s`,
    {
      hint: 'Statements are waiting (pg_stat_activity and pg_locks show for what), or daemon.concurrency is too high for this database.',
    },
  );
}

/** The reason why connecting failed. It cannot contain the password, as neither pg nor Node puts it in a message. */
export function describeConnectError(error: unknown, shown: string): MusterdError {
  const words = firstWords(error);
  return new MusterdError('mirror', `Could not connect to Postgres at ${shown}: ${words}`, {
    hint: connectHint(error, words),
    cause: error,
  });
}

function connectHint(error: unknown, words: string): string {
  const state = sqlState(error);
  if (state === '28P01' || state === '28000') return 'Check user and password in DATABASE_URL.';
  if (state === '3D000') return 'Create the database first, or correct its name in DATABASE_URL.';
  if (state !== undefined && OUT_OF_ORDER[state] !== undefined) return OUT_OF_ORDER[state];
  if (words.includes('does not support SSL')) {
    return 'musterd encrypts connections to other machines. Switch on TLS in Postgres, or add sslmode=disable to DATABASE_URL if the network itself is safe.';
  }
  if (/certificate|self.signed|altnames|issuer/i.test(words)) {
    return 'The server could not prove its identity. Name its certificate authority with sslrootcert=<file> in DATABASE_URL (sslmode=no-verify encrypts without any proof).';
  }
  if (words === asksForPassword) {
    return "Without TLS, musterd logs in only by SCRAM. Set the role's password again with password_encryption = 'scram-sha-256', or use TLS (sslmode=verify-full).";
  }
  if (words.includes('SASL') || words.includes('password')) return 'DATABASE_URL needs a password.';
  return 'Check that Postgres runs and that DATABASE_URL names its host and port.';
}

/** The message of an error. Node's AggregateError (one failure per address of a host) has none: its first failure has. */
export function firstWords(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return firstWords(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.message || ('code' in error ? String(error.code) : error.name);
}
