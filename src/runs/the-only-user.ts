/** Finds the one user that a person means. */
import { MusterdError } from '../errors.ts';
import type { FoundUser } from '../mirror/users/find-user.ts';
import { printable } from '../model/in-words.ts';

/** How many of several matching users are listed. */
const shownMatches = 20;

/** @throws MusterdError `usage` if several users match */
export function theOnly<User extends FoundUser>(who: string, found: readonly User[]): User | undefined {
  if (found.length < 2) return found[0];
  const lines = found
    .slice(0, shownMatches)
    .map(({ id, name, email, phone, gone }) =>
      printable([id, name, email ?? '–', phone ?? '–', gone ? '(gone)' : ''].join('  ')).trimEnd(),
    );
  if (found.length > shownMatches) lines.push(`… and ${found.length - shownMatches} more`);
  throw new MusterdError('usage', `${found.length} users answer to "${printable(who)}"`, {
    hint: ['Name one by the id:', ...lines].join('\n  '),
  });
}

export function nobodyAnswers(who: string): MusterdError {
  return new MusterdError('usage', `No user answers to "${printable(who)}"`, {
    hint: 'Give an id, an email, a phone number or a whole name.',
  });
}
