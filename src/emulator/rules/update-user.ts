import type { EmulatorClock } from './emulator-clock.ts';
import type { UserUpdate } from '../wire/request-schemas.ts';
import { putUser, type PlayedTeam, type UserRecord } from './played-team.ts';
import { type Moment, momentOf } from '../wire/show-timestamp.ts';
import type { Variants } from '../faults/variants.ts';

/** The values of an edit. The halves of the name can be edited separately, as in the web app. */
export type UserChange = Partial<Pick<UserRecord, 'first' | 'last' | 'email' | 'phone' | 'roleId'>>;

/** The changes that an UpdateUser makes, in the form in which the service stores them, or the reason for a 400. */
export function editOf(
  update: UserUpdate,
  team: PlayedTeam,
  variants: Variants,
): { readonly edit: UserChange } | { readonly refused: string } {
  const { email, phone, role_id: roleId } = update;
  if (email !== undefined && variants['email-writes'] === 'checked' && !/^$|^[^\s@]+@[^\s@]+$/.test(email)) {
    return { refused: `user ${update.id}: not an email` };
  }
  if (phone !== undefined && variants['phone-writes'] === 'checked' && !/^$|^\d{7,15}$/.test(phone)) {
    return { refused: `user ${update.id}: not a phone in E.164 digits` };
  }
  if (roleId !== undefined && variants['unknown-role'] === 'refuse' && !team.roles.has(roleId)) {
    return { refused: `user ${update.id}: no role ${roleId}` };
  }
  return {
    edit: {
      ...nameEdit(update, variants),
      ...(email === undefined ? {} : { email: storedEmail(email, variants) }),
      ...(phone === undefined ? {} : { phone: storedPhone(phone, variants) }),
      ...(roleId === undefined ? {} : { roleId }),
    },
  };
}

/** interface.md, note 2: first_name and last_name are linked. If one is sent alone, the other becomes empty. */
function nameEdit(update: UserUpdate, variants: Variants): UserChange {
  const { first_name: first, last_name: last } = update;
  if (first !== undefined || last !== undefined) {
    return { first: storedName(first ?? '', variants), last: storedName(last ?? '', variants) };
  }
  return variants['email-update'] === 'clears-name' ? { first: '', last: '' } : {};
}

function storedName(half: string, variants: Variants): string {
  const spaced = variants['name-spaces'] === 'collapsed' ? half.trim().replace(/\s+/g, ' ') : half;
  const cap = variants['name-cap'];
  return cap === 'none' ? spaced : Array.from(spaced).slice(0, cap).join('');
}

function storedEmail(email: string, variants: Variants): string | null {
  if (email === '') return null;
  return variants['email-case'] === 'lowered' ? email.toLowerCase() : email;
}

function storedPhone(phone: string, variants: Variants): string | null {
  const stored = variants['phone-writes'] === 'digits' ? phone.replace(/\D+/g, '') : phone;
  return stored === '' ? null : stored;
}

/** Writes the edit. Increases `updated_at`, so that each write is visible, unless `moves` is false. */
export function writeUser(
  team: PlayedTeam,
  user: UserRecord,
  edit: UserChange,
  clock: EmulatorClock,
  moves = true,
): UserRecord {
  const written = moves
    ? {
        ...user,
        ...edit,
        updated: laterThan(user.updated, user.id, clock),
        userUpdated: laterThan(user.userUpdated, user.id, clock),
      }
    : { ...user, ...edit };
  putUser(team, written);
  return written;
}

/** The present moment; or just after `before`, if two writes fall into one ms or the clock was set back. */
export function laterThan(before: Moment, id: number, clock: EmulatorClock): Moment {
  return momentOf(Math.max(clock.now(), before.ms + 1), id);
}
