import type { Id } from '../model/id.ts';
import type { RejectedRow } from '../model/listing.ts';
import type { Team, TeamMember } from '../model/team.ts';
import type { Reply } from './call.ts';
import { isObject, type JsonObject } from './json-object.ts';
import { findFlaw, takeId, takeInteger } from './row-flaws.ts';
import { decodeList, rejectRow, requireRows, type Shape, takeFields, takeText, unexpected } from './wire.ts';

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

/** Fields that cannot be stored are left out and told of; they cost neither the team nor its members. */
function dropFlawed(row: JsonObject, suspicious: boolean): { sound: JsonObject; rejected: RejectedRow[] } {
  const rejected: RejectedRow[] = [];
  const sound = Object.entries(row).filter(([name, value]) => {
    const flaw = findFlaw({ [name]: value }, suspicious);
    if (flaw !== null) rejected.push(rejectRow('team', { id: row['id'], [name]: value }, flaw));
    return flaw === null;
  });
  return { sound: Object.fromEntries(sound), rejected };
}

const packedNames = Object.keys(memberShape) as (keyof typeof memberShape)[];

function decodeMember(row: JsonObject, id: Id): TeamMember {
  const { raw: _extras, ...fields } = takeFields(row, memberShape);
  return { id, ...fields };
}

/**
 * interface.md, Team: who is in it. `id` and `members` are needed, for without them nobody could be told
 * from somebody who left; a member needs an id.
 *
 * @throws ServiceError where one of the two is missing
 */
export function decodeTeam(reply: Reply): Team {
  const { value, suspicious } = reply.body;
  const id = isObject(value) ? takeId(value['id']) : null;
  if (!isObject(value) || id === null) throw unexpected(reply, 'a team with an id');
  const { members: memberRows, ...rest } = value;
  const list = requireRows(reply, memberRows, "a list of the team's `members`");
  const members = decodeList('team members', list, suspicious, decodeMember, packedNames);
  const { sound, rejected } = dropFlawed(rest, suspicious);
  const { digest } = reply.body;
  return {
    id,
    ...(digest === undefined ? {} : { digest }),
    ...takeFields(sound, teamShape),
    members: members.rows,
    rejected: [...rejected, ...members.rejected],
  };
}
