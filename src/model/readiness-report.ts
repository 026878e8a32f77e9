/** It is `unknown` as long as nobody has asked, which stops nobody from working. */
export type CheckState = 'ok' | 'failing' | 'unknown';

/** The conditions for a daemon to work. */
export interface ReadyChecks {
  /** Whether the database answers. */
  readonly database: CheckState;
  /** Whether the schema is the one of this version of musterd. */
  readonly migrations: CheckState;
  /** Whether the service accepts the credentials. It is failing if it accepts those of no team. */
  readonly credentials: CheckState;
}

export function isReady({ database, migrations, credentials }: ReadyChecks): boolean {
  return [database, migrations, credentials].every((state) => state !== 'failing');
}
