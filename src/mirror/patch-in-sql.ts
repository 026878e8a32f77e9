import { fields, type UserPatch } from '../model/user.ts';
import { sqlField } from './users-read.ts';

/** The values of a patch, under their SQL names. */
export function patchInSql(patch: UserPatch): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.filter((field) => patch[field] !== undefined).map((field) => [sqlField(field), patch[field]]),
  );
}
