/** Finds the user and the field that a command names. */
import { MusterdError } from '../errors.ts';
import { type FoundUser, findUsers } from '../mirror/users/find-user.ts';
import { readTeamId } from '../mirror/team/pinned-teams.ts';
import { columnOf, type Field, fields } from '../model/fields.ts';
import { readUserQuery } from '../mirror/users/user-query.ts';
import type { Id } from '../model/id.ts';
import { requireSchema, type Setup } from './open.ts';
import { printable } from '../model/in-words.ts';

/** The most matching users that are listed. */
const shownMatches = 20;

/** @throws MusterdError `usage` if several users match */
export function theOnly<User extends FoundUser>(userText: string, found: readonly User[]): User | undefined {
  if (found.length < 2) return found[0];
  const lines = found
    .slice(0, shownMatches)
    .map(({ id, name, email, phone, gone }) =>
      printable([id, name, email ?? '–', phone ?? '–', gone ? '(gone)' : ''].join('  ')).trimEnd(),
    );
  if (found.length > shownMatches) lines.push(`… and ${found.length - shownMatches} more`);
  throw new MusterdError('usage', `${found.length} users match "${printable(userText)}"`, {
    hint: ['Name one by the id:', ...lines].join('\n  '),
  });
}

export function nobodyAnswers(userText: string): MusterdError {
  return new MusterdError('usage', `No user matches "${printable(userText)}"`, {
    hint: 'Give an id, an email, a phone number or a whole name.',
  });
}

/** @throws MusterdError `usage` before the first run of the team */
export async function requireTeamId({ config, mirror }: Setup): Promise<Id> {
  await requireSchema(mirror.db);
  const teamId = await readTeamId(mirror.db.kysely, config.team);
  if (teamId !== null) return teamId;
  throw new MusterdError('usage', `Nothing is known of team "${config.team}" yet`, {
    hint: 'Run "musterd reconcile" first.',
  });
}

/** @throws MusterdError `usage` if no user or several match */
export async function requireUser(
  { mirror }: Pick<Setup, 'mirror'>,
  teamId: Id,
  userText: string,
): Promise<FoundUser> {
  const found = theOnly(userText, await findUsers(mirror.db.kysely, teamId, readUserQuery(userText)));
  if (found === undefined) throw nobodyAnswers(userText);
  return found;
}

/** @throws MusterdError `usage` */
export function readField(text: string): Field {
  const field = fields.find((candidate) => columnOf(candidate) === text);
  if (field !== undefined) return field;
  throw new MusterdError('usage', `"${printable(text)}" is not a field you can write`, {
    hint: `Give one of ${fields.map(columnOf).join(', ')}.`,
  });
}
