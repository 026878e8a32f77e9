/** The ways in which a person may name a user: by an id, an email, a phone number or a name. */
import { canonicalEmail, isEmailAddress, canonicalPhone } from '../../model/canonical.ts';
import { type Id, maxId } from '../../model/id.ts';
import { canonicalName } from '../../model/name.ts';

/** The possible meanings of a text, in canonical form; `null` for one that it cannot have. */
export interface UserQuery {
  readonly id: Id | null;
  readonly email: string | null;
  readonly phone: string | null;
  readonly name: string | null;
}

/** Digits alone may be an id or a phone number; with a plus sign or spaces in between, only a number. */
export function readUserQuery(text: string): UserQuery {
  const nothing: UserQuery = { id: null, email: null, phone: null, name: null };
  const trimmed = text.trim();
  if (isEmailAddress(trimmed)) return { ...nothing, email: canonicalEmail(trimmed) };
  if (/^\d+$/.test(trimmed)) {
    const id = BigInt(trimmed);
    return { ...nothing, id: id <= maxId ? id : null, phone: trimmed };
  }
  const digits = canonicalPhone(trimmed);
  if (/^\+?[0-9 ()./-]+$/.test(trimmed) && digits !== '') return { ...nothing, phone: digits };
  return { ...nothing, name: canonicalName(trimmed) };
}
