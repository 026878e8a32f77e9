/** SQL sessions of people on the mirror, and the relations that they can query. */
import { describeRelation, readRelations } from '../../mirror/db/sql-catalog.ts';
import { openSqlSession, type SqlSession } from '../../mirror/db/sql-session.ts';
import { reachesBeyondTables } from '../../mirror/team/probes.ts';
import type { Mirror } from '../open.ts';

export {
  type AnswerSink,
  type SqlRow,
  type SqlSession,
  transactionWords,
} from '../../mirror/db/sql-session.ts';
export type { SqlColumn } from '../../mirror/db/sql-values.ts';

/** The relations that `\d` lists, and the relation that `\d <name>` shows; `null` if no view or table has this name. */
export const relationsOf = ({ db }: Pick<Mirror, 'db'>) => readRelations(db);
export const relationOf = ({ db }: Pick<Mirror, 'db'>, name: string) => describeRelation(db, name);

export interface SqlSessionRequest {
  /** True if statements can write. Otherwise each statement is a read-only transaction. */
  readonly isWriting: boolean;
  /** Called with warnings and notices of the server. */
  readonly onNotice: (words: string) => void;
  /** Called if even reading statements of this login could start programs, or read files of the server. */
  readonly onBeyondTables: () => void;
}

export async function openSql(
  mirror: Pick<Mirror, 'db' | 'url' | 'readingUrl'>,
  { isWriting, onNotice, onBeyondTables }: SqlSessionRequest,
): Promise<SqlSession> {
  const url = isWriting ? mirror.url : await mirror.readingUrl();
  if (!isWriting && url === mirror.url && (await reachesBeyondTables(mirror.db))) onBeyondTables();
  return await openSqlSession({ url, isWriting, onNotice });
}
