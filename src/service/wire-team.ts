import type { TeamMember } from '../model/team-member.ts';
import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/rejected-row.ts';
import type { Team } from '../model/team.ts';
import type { Reply } from './call.ts';
import type { DecodeRows } from './page.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { findFlaw, takeId, takeInteger } from './row-flaws.ts';
import {
  countKeys,
  decodeRows,
  isPlainText,
  rejectRow,
  type Shape,
  takeFields,
  takeRows,
  takeText,
  unexpected,
} from './wire.ts';

const teamShape: Shape<Pick<Team, 'name' | 'listSize'>> = {
  name: ['name', takeText],
  listSize: ['list_size', takeInteger],
};

const memberShape: Shape<Omit<TeamMember, 'id'>> = {
  name: ['name', takeText],
  role: ['role', takeText],
  email: ['email', takeText],
  phone: ['phone', takeText],
};

/** Removes fields that cannot be stored, and reports them as rejected. The team and its members can still be read. */
function dropFlawed(row: JsonObject, suspicious: boolean): { sound: JsonObject; rejected: RejectedRow[] } {
  const rejected: RejectedRow[] = [];
  const sound = Object.entries(row).filter(([name, value]) => {
    const flaw = findFlaw({ [name]: value }, suspicious);
    if (flaw !== null) rejected.push(rejectRow('team', { id: row['id'], [name]: value }, flaw));
    return flaw === null;
  });
  return { sound: Object.fromEntries(sound), rejected };
}

function decodeMember(row: JsonObject, id: Id): TeamMember {
  const { raw: _extras, ...fields } = takeFields(row, memberShape);
  return { id, ...fields };
}

function decodePlainMember(row: JsonObject): TeamMember | null {
  const { id, name, role, email, phone } = row;
  if (!Number.isSafeInteger(id) || (id as number) <= 0 || !isPlainText(name) || !isPlainText(role))
    return null;
  // `email` and `phone` are additional fields, which most deployments do not send.
  const keys = email === undefined && phone === undefined ? 3 : 5;
  const [mail = null, number = null] = keys === 3 ? [] : [email, phone];
  if (!isPlainText(mail) || !isPlainText(number) || countKeys(row) !== keys) return null;
  return { id: BigInt(id as number), name, role, email: mail, phone: number };
}

const decodeMembers: DecodeRows<TeamMember> = (rows, look) =>
  decodeRows({ resource: 'team members', decode: decodeMember, decodePlain: decodePlainMember }, rows, look);

/**
 * interface.md, Team. `id` and `members` are required, because without them it would be unknown which users have
 * left. A member needs an id.
 *
 * @throws ServiceError if one of the two is missing
 */
export async function decodeTeam(reply: Reply): Promise<Team> {
  const { value, suspicious } = reply.body;
  const id = isObject(value) ? takeId(value['id']) : null;
  if (!isObject(value) || id === null) throw unexpected(reply, 'a team with an id');
  const { members: memberRows, ...rest } = value;
  const members = await takeRows(reply, memberRows, "a list of the team's `members`", decodeMembers);
  const { sound, rejected } = dropFlawed(rest, suspicious);
  return {
    id,
    ...takeFields(sound, teamShape),
    members: members.rows,
    rejected: [...rejected, ...members.rejected],
  };
}
