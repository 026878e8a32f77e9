/** The canonical forms in which values are compared with the service. The values themselves are stored unchanged. */
import type { Id } from './id.ts';

/** An empty text of the service counts as no value, and is stored as NULL. */
export function stored(text: string): string | null {
  return text.trim() === '' ? null : text;
}

/** Trims, and lowers ASCII letters only, because the case of other letters may matter to mail servers. */
export function canonicalEmail(email: string | null): string {
  return (email ?? '').trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Only the digits, so that `+1 (555) 0100` and `15550100` are the same number; empty if there is no number. */
export function canonicalPhone(phone: string | null): string {
  return (phone ?? '').replace(/[^0-9]/g, '');
}

export function canonicalRoleId(roleId: Id | null): string {
  return roleId === null ? '' : String(roleId);
}

/** True if the text looks like an email address. A regular expression is not used: it would scan the text once per @. */
export function isEmailAddress(text: string): boolean {
  const at = text.indexOf('@', 1);
  return at > 0 && at < text.length - 1 && !/[\s\p{Cc}]/u.test(text);
}
