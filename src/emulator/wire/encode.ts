import { seedOf } from '../random.ts';
import type {
  FieldRecord,
  InboxRecord,
  SurveyRecord,
  TagRecord,
  PlayedTeam,
  UserRecord,
} from '../rules/played-team.ts';
import { formatMoment } from './show-timestamp.ts';
import type { Variants } from '../faults/variants.ts';

/** A row as it is sent in JSON. */
export type TeamRow = Readonly<Record<string, unknown>>;

/** How variants can change a row of one kind. */
interface RowVariation {
  /** Documented keys that some rows lack, under `missing-fields=some`. */
  readonly missing: readonly string[];
  /** Documented strings that some rows have as null, under `nulls=some`. */
  readonly nulls: readonly string[];
  /** Undocumented keys that all rows have, under `extra-fields=some`. */
  readonly extra: TeamRow;
}

/** Sets a key to null in about a third of the rows, and removes it from about a third, chosen by id and key. */
function bend(row: TeamRow, id: number, variants: Variants, bending: RowVariation): TeamRow {
  const { missing, nulls, extra } = bending;
  const bent: Record<string, unknown> = { ...row };
  if (variants['nulls'] === 'some') {
    for (const key of nulls) if (seedOf(`null:${key}:${id}`) % 3 === 0) bent[key] = null;
  }
  if (variants['missing-fields'] === 'some') {
    for (const key of missing) if (seedOf(`missing:${key}:${id}`) % 3 === 0) delete bent[key];
  }
  return variants['extra-fields'] === 'some' ? { ...bent, ...extra } : bent;
}

function revision(rev: number, op: string | undefined, variants: Variants): TeamRow {
  return variants['revisions'] === 'absent' ? {} : { rev, ...(op === undefined ? {} : { op }) };
}

function phoneText(phone: string, id: number, variants: Variants): string {
  const plus = variants.phones === 'plus' || (variants.phones === 'mixed' && seedOf(`plus:${id}`) % 2 === 0);
  return plus && phone !== '' ? `+${phone.replace(/^\+/, '')}` : phone;
}

/** interface.md, User: the name is the two halves joined by a space and trimmed. */
export function joinedName(user: Pick<UserRecord, 'first' | 'last'>): string {
  return `${user.first} ${user.last}`.trim();
}

function contactKeys(user: UserRecord, variants: Variants): TeamRow {
  const phone = user.phone === null ? null : phoneText(user.phone, user.id, variants);
  const keys = { email: user.email, phone };
  if (variants.blank === 'null') return keys;
  return Object.fromEntries(
    Object.entries(keys)
      .filter(([, value]) => value !== null || variants.blank === 'empty')
      .map(([key, value]) => [key, value ?? '']),
  );
}

/** Gives a user's phone and role the types that the variant demands. An empty phone stays unchanged. */
function retype(row: TeamRow, type: Variants['value-types']): TeamRow {
  const { phone, role_id: role } = row;
  const digits = typeof phone === 'string' ? phone.replace(/\D/g, '') : '';
  const swap = (value: unknown, other: unknown) => (type === 'odd' ? { value } : other);
  return {
    ...row,
    ...(digits === '' ? {} : { phone: swap(phone, Number(digits)) }),
    role_id: swap(role, String(role)),
  };
}

export function encodeUser(user: UserRecord, teamId: number, variants: Variants): TeamRow {
  const digits = variants.fraction;
  const row = {
    id: user.id,
    name: joinedName(user),
    ...contactKeys(user, variants),
    role_id: user.roleId,
    team_id: teamId,
    created_at: formatMoment(user.created, digits),
    updated_at: formatMoment(user.updated, digits),
    user_created_at: formatMoment(user.userCreated, digits),
    user_updated_at: formatMoment(user.userUpdated, digits),
  };
  const typed = variants['value-types'] === 'documented' ? row : retype(row, variants['value-types']);
  return bend(typed, user.id, variants, {
    missing: ['team_id', 'created_at', 'user_created_at', 'user_updated_at'],
    nulls: ['created_at', 'user_created_at'],
    extra: { avatar_url: null, is_sso: false, preferences: { theme: 'dark', sounds: [1, 2] }, __v: 3 },
  });
}

/** interface.md, Team. The `role` of a member is the role's name. */
export function encodeTeam(team: PlayedTeam, members: readonly UserRecord[], variants: Variants): TeamRow {
  const row = {
    id: team.id,
    name: team.name,
    list_size: team.listSize,
    members: members.map((user) => ({
      id: user.id,
      name: joinedName(user),
      role: team.roles.get(user.roleId) ?? `role ${user.roleId}`,
      ...(variants['member-extras'] === 'none' ? {} : contactKeys(user, variants)),
    })),
  };
  return bend(row, team.id, variants, {
    missing: ['list_size'],
    nulls: [],
    extra: { plan: 'business', features: ['surveys', 'tags'], owner: null },
  });
}

export function encodeTag(tag: TagRecord, teamId: number, variants: Variants): TeamRow {
  const row = {
    id: tag.id,
    team_id: teamId,
    tag: tag.tag,
    color: tag.color,
    ...revision(tag.rev, undefined, variants),
    created: formatMoment(tag.created, variants.fraction),
    updated: formatMoment(tag.updated, variants.fraction),
  };
  return bend(row, tag.id, variants, {
    missing: ['color', 'created', 'team_id'],
    nulls: ['color', 'created'],
    extra: { usage: 12, group: { id: 1, name: 'General' }, deleted: null },
  });
}

export function encodeField(field: FieldRecord, teamId: number, variants: Variants): TeamRow {
  const row = {
    id: field.id,
    ...revision(field.rev, field.op, variants),
    tid: teamId,
    title: field.title,
    uid: field.uid,
  };
  return bend(row, field.id, variants, {
    missing: ['op', 'uid', 'tid'],
    nulls: ['op'],
    extra: { position: 4, type: 'text', options: [] },
  });
}

export function encodeSurvey(survey: SurveyRecord, variants: Variants): TeamRow {
  const row = {
    id: survey.id,
    name: survey.name,
    type: survey.type,
    question: survey.question,
    created: formatMoment(survey.created, variants.fraction),
    updated: formatMoment(survey.updated, variants.fraction),
  };
  return bend(row, survey.id, variants, {
    missing: ['type', 'created'],
    nulls: ['question', 'type'],
    extra: { responses: 0, archived: false },
  });
}

/** About thirty undocumented keys have been seen on real inboxes; their names here are made up. */
const undocumentedInboxKeys: TeamRow = Object.fromEntries(
  Array.from({ length: 30 }, (_, at) => [
    `setting_${at + 1}`,
    [null, at, `value ${at}`, at % 2 === 0][at % 4],
  ]),
);

export function encodeInbox(inbox: InboxRecord, teamId: number, variants: Variants): TeamRow {
  const phones = inbox.phones.map((phone) => phoneText(phone, inbox.id, variants));
  const row = {
    id: inbox.id,
    name: inbox.name,
    team: teamId,
    members: inbox.members,
    phones,
    phone: phones[0] ?? '',
    allowed_domains: ['example.com'],
    auto_assignable: inbox.id % 2 === 0,
    bco_chats: false,
    forward_number: '',
    invited: variants.invited === 'boolean' ? false : [],
    ...revision(inbox.rev, 'update', variants),
    widget_code: `widget-${inbox.id}`,
    widget_settings: widgetSettings(inbox, phones[0] ?? ''),
  };
  return bend(row, inbox.id, variants, {
    missing: ['allowed_domains', 'bco_chats', 'forward_number', 'invited', 'widget_code', 'widget_settings'],
    nulls: ['forward_number', 'phone', 'widget_code'],
    extra: undocumentedInboxKeys,
  });
}

function widgetSettings(inbox: InboxRecord, phone: string): TeamRow {
  return {
    background_color: '#ffffff',
    button_color: '#0055aa',
    fab_background_color: '#0055aa',
    fab_text_color: '#ffffff',
    message: 'Text us!',
    name: inbox.name,
    phone,
    title_background_color: '#0055aa',
    title_text_color: '#ffffff',
    tos: '',
    position: 1,
    preview_enabled: true,
  };
}
