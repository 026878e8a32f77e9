/** Canonical forms: anything is compared with the service in these, and stored as it came. */
import type { Id } from './id.ts';

/** An empty text of the service is no value: it is stored as NULL. */
export function stored(text: string | null | undefined): string | null {
  return text === undefined || text === null || text.trim() === '' ? null : text;
}

/** ASCII letters in lower case and no white space around; other letters keep their case, as mail servers may. */
export function canonicalEmail(email: string | null): string {
  return (email ?? '').trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The digits alone: `+1 (555) 0100` and `15550100` are one number; none at all is the empty string. */
export function canonicalPhone(phone: string | null): string {
  return (phone ?? '').replace(/[^0-9]/g, '');
}

export function canonicalRoleId(roleId: Id | null): string {
  return roleId === null ? '' : String(roleId);
}

/** Looked at letter by letter: one expression for all of it takes as long as the text is, for each @. */
export function isEmailAddress(text: string): boolean {
  const at = text.indexOf('@', 1);
  return at > 0 && at < text.length - 1 && !/[\s\p{Cc}]/u.test(text);
}
