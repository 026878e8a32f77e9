/** Compares all data that both sides have. It neither reads nor writes them, because the caller passes them. */
import type { Id } from '../model/id.ts';
import {
  columnNamesOf,
  inPlural,
  isKept,
  type ListedResource,
  type ListedRow,
} from '../model/listed-resource.ts';
import { listedResources } from '../model/listed-resources.ts';
import type { MirroredUser } from '../model/mirrored-user.ts';
import type { Team } from '../model/team.ts';
import { readable } from '../model/user.ts';
import { type ComparedRow, compareRows, type ServiceRow } from './compare-rows.ts';
import { compareUsers, findSharedAddresses } from './compare-users.ts';
import type { Difference, Duplicate, OneSided } from './difference.ts';
import type { ServiceSnapshot } from './service-side.ts';

/** The mirror's side of the comparison. */
export interface Mirrored {
  readonly team: {
    readonly name: string | null;
    readonly list_size: Id | null;
    readonly members: Id | null;
  } | null;
  readonly users: readonly MirroredUser[];
  /** The rows of the listings, by resource. */
  readonly listed: ReadonlyMap<string, readonly ComparedRow[]>;
  readonly isRunning: boolean;
}

export interface Comparison {
  readonly team: Team;
  /** True if everything was read to its end, and every difference is explained. */
  readonly equal: boolean;
  /** The number of the service's rows, by resource. */
  readonly compared: Readonly<Record<string, number>>;
  /** Members whom both sides know only from the team listing. */
  readonly unresolved: number;
  readonly differences: readonly Difference[];
  readonly oneSided: readonly OneSided[];
  readonly duplicates: readonly Duplicate[];
  readonly unread: readonly string[];
  readonly isRunning: boolean;
}

/** The compared columns of a row. A column that the listing leaves out, but the mirror keeps, is not compared. */
function serviceRow(resource: ListedResource, row: ListedRow): ServiceRow {
  const shownColumns = columnNamesOf(resource).filter(
    (column) => row[column] !== null || !isKept(resource, column),
  );
  return { id: row.id, columns: Object.fromEntries(shownColumns.map((column) => [column, row[column]])) };
}

function compareListed(mirrored: Mirrored, { listed, complete }: ServiceSnapshot, resource: ListedResource) {
  const { name } = resource;
  const rows = listed.get(name)?.map((row) => serviceRow(resource, row));
  return rows === undefined
    ? { differences: [], oneSided: [] }
    : compareRows(name, mirrored.listed.get(name) ?? [], rows, complete.has(name));
}

function compareTeam(mirrored: Mirrored, { id, name, listSize, members }: Team) {
  const ours = mirrored.team;
  const rows =
    ours === null ? [] : [{ id, columns: { ...ours }, gone_at: null, missing_since: null, found: false }];
  return compareRows(
    'team',
    rows,
    [{ id, columns: { name, list_size: listSize, members: BigInt(members.length) } }],
    true,
  );
}

function findDuplicates(mirrored: Mirrored, { users, repeated }: ServiceSnapshot): readonly Duplicate[] {
  const answered = [...(users?.values() ?? [])].map(({ id, email, phone }) => ({
    id,
    email: readable(email) ?? null,
    phone: readable(phone) ?? null,
  }));
  return [
    ...repeated.map(
      ({ resource, id }): Duplicate => ({
        resource,
        field: 'id',
        value: String(id),
        ids: [id],
        side: 'service',
      }),
    ),
    ...findSharedAddresses('service', answered),
    ...findSharedAddresses(
      'mirror',
      mirrored.users.filter(({ gone_at }) => gone_at === null),
    ),
  ];
}

export function compare(mirrored: Mirrored, service: ServiceSnapshot): Comparison {
  const { team, users, listed, complete } = service;
  const ofUsers =
    users === null
      ? { differences: [], oneSided: [], unread: [] }
      : compareUsers(mirrored.users, { users, members: team.members, complete: complete.has('users') });
  const missed = listedResources.filter(
    ({ name }) =>
      service.notOffered.has(name) && mirrored.listed.get(name)?.some(({ gone_at }) => gone_at === null),
  );
  const unread = [
    ...service.unread,
    ...missed.map((resource) => `${inPlural(resource)}: the service has no such listing (404)`),
    ...ofUsers.unread,
  ];
  const parts = [
    compareTeam(mirrored, team),
    ofUsers,
    ...listedResources.map((resource) => compareListed(mirrored, service, resource)),
  ];
  const differences = parts.flatMap((part) => part.differences);
  const oneSided = parts.flatMap((part) => part.oneSided);
  const drifts = [...differences, ...oneSided].some(({ judgement }) => judgement === 'drift');
  return {
    team,
    equal: !drifts && unread.length === 0,
    compared: {
      users: users?.size ?? 0,
      ...Object.fromEntries(listedResources.map(({ name }) => [name, listed.get(name)?.length ?? 0])),
    },
    unresolved: users === null ? 0 : team.members.filter(({ id }) => !users.has(id)).length,
    differences,
    oneSided,
    duplicates: findDuplicates(mirrored, service),
    unread,
    isRunning: mirrored.isRunning,
  };
}
