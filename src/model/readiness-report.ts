/** `unknown`: nobody has asked yet, which keeps nobody from working. */
export type CheckState = 'ok' | 'failing' | 'unknown';

/** What a daemon needs to work. */
export interface ReadyChecks {
  /** The database answers. */
  readonly database: CheckState;
  /** The schema is as this version of musterd needs it. */
  readonly migrations: CheckState;
  /** The service takes the credentials. Failing: of no team that it was asked for. */
  readonly credentials: CheckState;
}

export function isReady({ database, migrations, credentials }: ReadyChecks): boolean {
  return [database, migrations, credentials].every((state) => state !== 'failing');
}
