/** Finds a held field that a person can decide about, or throws the reason why not. */
import { MusterdError } from '../../errors.ts';
import type { EditAnswer } from '../../mirror/users/decide-edits.ts';
import { columnOf, type Field } from '../../model/fields.ts';
import type { Id } from '../../model/id.ts';
import { printable } from '../../model/in-words.ts';
import { joinName, type NamePair } from '../../model/name.ts';
import { type BaseUser, type MirrorRow, sameBytes } from '../../model/user.ts';
import type { Hold } from '../../model/user-plan.ts';
import type { UserState } from '../../model/user-state.ts';
import { isAsked } from '../../reconcile/merge/plan-field.ts';

export interface HeldField {
  readonly hold: Hold;
  readonly mirror: MirrorRow;
  readonly base: BaseUser;
}

/** A value for a sentence, with the halves of a name joined. */
export function sayValue(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'nothing';
  const text = typeof value === 'object' ? joinName(value as NamePair) : `${value as string | Id}`;
  return `"${printable(text)}"`;
}

/** The error that explains why a field of a user cannot be decided now. `answer` is the state of its edit. */
export function refusalOf(
  answer: EditAnswer,
  { id, mirror }: Pick<UserState, 'id' | 'mirror'>,
  field: Field,
): MusterdError {
  const column = columnOf(field);
  const what = `The ${column} of user ${id}`;
  const usage = (message: string, hint: string) => new MusterdError('usage', message, { hint });
  if (answer === 'asked')
    return usage(`${what} is held on request`, `End it with "musterd hold ${id} ${column} --end".`);
  if (answer === 'gone')
    return usage(`User ${id} is not in the team now`, 'The field stays held until the user is back.');
  if (answer === 'on its way')
    return usage(`${what} is being sent, or its outcome is not known yet`, 'The next run reads its outcome.');
  if (answer === 'own')
    return usage(
      `The approver edited, or may have edited, user ${id}`,
      'Somebody else has to approve it (push.fourEyes).',
    );
  return usage(
    `${what} was edited since it was held: the mirror has ${sayValue(mirror?.[field])} now`,
    'After the next run, "musterd held" shows if it is still held.',
  );
}

/** @throws MusterdError `usage` if there is nothing to resolve */
export function requireHeld(state: UserState, field: Field): HeldField {
  const { id, held, mirror, base } = state;
  const hold = held.find((row) => row.field === field);
  if (hold === undefined) {
    throw new MusterdError('usage', `The ${columnOf(field)} of user ${id} is not held`, {
      hint: 'Run "musterd held" to list held fields. Edit other fields in mirror.users.',
    });
  }
  if (mirror === undefined || base === undefined || mirror.gone) throw refusalOf('gone', state, field);
  if (isAsked(hold)) throw refusalOf('asked', state, field);
  if (!sameBytes(field, { ...mirror, [field]: hold.mirror }, mirror)) throw refusalOf('moved', state, field);
  return { hold, mirror, base };
}
