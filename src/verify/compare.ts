/** Everything that the two sides have in common, side by side. Values in, values out. */
import type { ContactField } from '../model/contact-field.ts';
import type { Id } from '../model/id.ts';
import type { MirroredUser } from '../model/mirrored-user.ts';
import type { Tag } from '../model/tag.ts';
import type { Team } from '../model/team.ts';
import { readable } from '../model/user.ts';
import { compareRows, type ComparedRow, type ServiceRow } from './compare-rows.ts';
import { compareUsers, findSharedAddresses } from './compare-users.ts';
import type { Difference, Duplicate, OneSided } from './difference.ts';
import type { ServiceSnapshot } from './service-side.ts';

/** The mirror's half. */
export interface Mirrored {
  readonly team: { readonly name: string | null; readonly list_size: Id | null } | null;
  readonly users: readonly MirroredUser[];
  readonly tags: readonly ComparedRow[];
  readonly contactFields: readonly ComparedRow[];
  readonly isRunning: boolean;
}

export interface Comparison {
  readonly team: Team;
  /** Everything was read to its end, and every difference is explained. */
  readonly equal: boolean;
  /** Rows of the service. */
  readonly compared: Readonly<Record<'users' | 'tags' | 'contact_fields', number>>;
  /** Members whom neither side knows but from the team listing. */
  readonly unresolved: number;
  readonly differences: readonly Difference[];
  readonly oneSided: readonly OneSided[];
  readonly duplicates: readonly Duplicate[];
  readonly unread: readonly string[];
  readonly isRunning: boolean;
}

function tagRow({ id, tag, color, rev, created, updated }: Tag): ServiceRow {
  return { id, columns: { tag, color, rev, created, updated } };
}

function contactFieldRow({ id, title, op, rev, tid, uid }: ContactField): ServiceRow {
  return { id, columns: { title, op, rev, tid, uid } };
}

function compareTeam(mirrored: Mirrored, { id, name, listSize }: Team) {
  const ours = mirrored.team;
  const rows =
    ours === null ? [] : [{ id, columns: { ...ours }, gone_at: null, missing_since: null, found: false }];
  return compareRows('team', rows, [{ id, columns: { name, list_size: listSize } }], true);
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
  const { team, users, tags, contactFields, complete } = service;
  const nothing = { differences: [], oneSided: [] };
  const ofUsers =
    users === null
      ? { ...nothing, unread: [] }
      : compareUsers(mirrored.users, { users, members: team.members, complete: complete.has('users') });
  const unread = [...service.unread, ...ofUsers.unread];
  const parts = [
    compareTeam(mirrored, team),
    ofUsers,
    tags === null ? nothing : compareRows('tags', mirrored.tags, tags.map(tagRow), complete.has('tags')),
    contactFields === null
      ? nothing
      : compareRows(
          'contact_fields',
          mirrored.contactFields,
          contactFields.map(contactFieldRow),
          complete.has('contact_fields'),
        ),
  ];
  const differences = parts.flatMap((part) => part.differences);
  const oneSided = parts.flatMap((part) => part.oneSided);
  const drifts = [...differences, ...oneSided].some(({ judgement }) => judgement === 'drift');
  return {
    team,
    equal: !drifts && unread.length === 0,
    compared: {
      users: users?.size ?? 0,
      tags: tags?.length ?? 0,
      contact_fields: contactFields?.length ?? 0,
    },
    unresolved: users === null ? 0 : team.members.filter(({ id }) => !users.has(id)).length,
    differences,
    oneSided,
    duplicates: findDuplicates(mirrored, service),
    unread,
    isRunning: mirrored.isRunning,
  };
}
