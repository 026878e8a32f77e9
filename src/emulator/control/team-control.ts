import { signToken } from '../wire/authenticate.ts';
import { segmentOf } from '../rules/count-contacts.ts';
import type { EmulatorClock } from '../rules/emulator-clock.ts';
import type { TeamSecret } from '../options.ts';
import {
  type DeliveryRecord,
  dropUser,
  type FieldRecord,
  type InboxRecord,
  putUser,
  type ScheduleRecord,
  type SurveyRecord,
  type TagRecord,
  type PlayedTeam,
  nextId,
  type UserRecord,
} from '../rules/played-team.ts';
import { sendDueMessages } from '../rules/sent-messages.ts';
import { momentOf } from '../wire/show-timestamp.ts';
import { laterThan, type UserChange, writeUser } from '../rules/update-user.ts';

/** A new user. By default the values are empty, the role is 4, and both listings show the user. */
export type NewUser = Partial<Pick<UserRecord, 'id' | 'listed' | 'answered'>> & UserChange;

/** Direct access to one team: its exact content, and edits as if made in the web app. */
export interface TeamControl {
  readonly id: number;
  /** The environment that a client needs to reach this team. */
  readonly environment: Readonly<Record<string, string>>;
  /** The names of roles by id. */
  readonly roles: ReadonlyMap<number, string>;
  name(): string;
  rename(name: string): void;

  /** The users in the order of their ids, with both halves of each name as they are stored. */
  users(): readonly UserRecord[];
  /** Throws if the team has no such user. */
  user(id: number): UserRecord;
  addUser(user: NewUser): UserRecord;
  editUser(id: number, edit: UserChange): UserRecord;
  /** Hides the user from the members (`listed`) or from users/get (`answered`), or shows the user again. */
  showUser(id: number, where: Partial<Pick<UserRecord, 'listed' | 'answered'>>): UserRecord;
  removeUser(id: number): void;

  tags(): readonly TagRecord[];
  addTag(tag: string, color?: string): TagRecord;
  editTag(id: number, edit: Partial<Pick<TagRecord, 'tag' | 'color'>>): TagRecord;
  removeTag(id: number): void;
  fields(): readonly FieldRecord[];
  addField(title: string): FieldRecord;
  editField(id: number, title: string): FieldRecord;
  removeField(id: number): void;
  surveys(): readonly SurveyRecord[];
  inboxes(): readonly InboxRecord[];
  /** All messages that were ever scheduled, including cancelled messages. */
  schedules(): readonly ScheduleRecord[];
  /** Delivered messages: one record for each message and recipient. */
  deliveries(): readonly DeliveryRecord[];
  conversationsRead(): readonly Readonly<Record<string, unknown>>[];

  /** Sets the count of all contacts, or of the contacts that a pagination body selects. */
  setContacts(count: number, body?: Readonly<Record<string, unknown>>): void;
  /** The credential after `Bearer`: a token signed with the first API Secret, or without one the legacy key. */
  token(): string;
  /** Throws if the team already has two secrets (interface.md, Rotation). */
  addSecret(secret: TeamSecret): void;
  revokeSecret(id: string): void;
  setApiKey(apiKey: string | undefined): void;
  /** Sets the rate limit in requests per minute; 0 for no limit. */
  setRate(perMinute: number): void;
}

export function createTeamControl(
  team: PlayedTeam,
  clock: EmulatorClock,
  environment: Readonly<Record<string, string>>,
): TeamControl {
  return {
    id: team.id,
    environment,
    get roles() {
      return team.roles;
    },
    name: () => team.name,
    rename: (name) => {
      team.name = name;
      team.version += 1;
    },
    users: () => sortedById(team.users),
    ...userControl(team, clock),
    ...tagControl(team, clock),
    ...fieldControl(team),
    surveys: () => sortedById(team.surveys),
    inboxes: () => sortedById(team.inboxes),
    schedules: () => {
      sendDueMessages(team, clock.now());
      return sortedById(team.schedules);
    },
    deliveries: () => {
      sendDueMessages(team, clock.now());
      return team.deliveries;
    },
    conversationsRead: () => team.conversationsRead,
    ...accessControl(team),
    token: () => {
      const [secret] = team.secrets;
      return secret === undefined ? (team.apiKey ?? '') : signToken(secret, clock.now());
    },
    setContacts: (count, body = {}) => {
      const segment = segmentOf(body);
      if (segment === '') team.contacts = count;
      else team.segments.set(segment, count);
      team.version += 1;
    },
  };
}

function userControl(
  team: PlayedTeam,
  clock: EmulatorClock,
): Pick<TeamControl, 'user' | 'addUser' | 'editUser' | 'showUser' | 'removeUser'> {
  return {
    user: (id) => present(team.users, id),
    addUser: (given) => {
      const id = given.id ?? nextId(team);
      const now = momentOf(clock.now(), id);
      const times = { created: now, updated: now, userCreated: now, userUpdated: now };
      const blank = {
        first: '',
        last: '',
        email: null,
        phone: null,
        roleId: 4,
        listed: true,
        answered: true,
      };
      const user = { ...blank, ...times, ...given, id };
      putUser(team, user);
      return user;
    },
    editUser: (id, edit) => writeUser(team, present(team.users, id), edit, clock),
    showUser: (id, where) => {
      const user = { ...present(team.users, id), ...where };
      putUser(team, user);
      return user;
    },
    removeUser: (id) => {
      dropUser(team, present(team.users, id).id);
    },
  };
}

function tagControl(
  team: PlayedTeam,
  clock: EmulatorClock,
): Pick<TeamControl, 'tags' | 'addTag' | 'editTag' | 'removeTag'> {
  return {
    tags: () => sortedById(team.tags),
    addTag: (tag, color = '#808080') => {
      const id = nextId(team);
      const now = momentOf(clock.now(), id);
      return put(team, team.tags, { id, tag, color, rev: 1, created: now, updated: now });
    },
    editTag: (id, edit) => {
      const tag = present(team.tags, id);
      const updated = laterThan(tag.updated, id, clock);
      return put(team, team.tags, { ...tag, ...edit, rev: tag.rev + 1, updated });
    },
    removeTag: (id) => drop(team, team.tags, id),
  };
}

function fieldControl(
  team: PlayedTeam,
): Pick<TeamControl, 'fields' | 'addField' | 'editField' | 'removeField'> {
  return {
    fields: () => sortedById(team.fields),
    addField: (title) =>
      put(team, team.fields, { id: nextId(team), title, uid: team.id, op: 'create', rev: 1 }),
    editField: (id, title) => {
      const field = present(team.fields, id);
      return put(team, team.fields, { ...field, title, op: 'update', rev: field.rev + 1 });
    },
    removeField: (id) => drop(team, team.fields, id),
  };
}

function accessControl(
  team: PlayedTeam,
): Pick<TeamControl, 'addSecret' | 'revokeSecret' | 'setApiKey' | 'setRate'> {
  return {
    addSecret: (secret) => {
      if (team.secrets.length >= 2) throw new Error(`Team ${team.id} has two API Secrets already.`);
      team.secrets.push(secret);
      team.version += 1;
    },
    revokeSecret: (id) => {
      const at = team.secrets.findIndex((secret) => secret.id === id);
      if (at === -1) throw new Error(`Team ${team.id} has no API Secret ${id}.`);
      team.secrets.splice(at, 1);
      team.version += 1;
    },
    setApiKey: (apiKey) => {
      team.apiKey = apiKey;
      team.version += 1;
    },
    setRate: (perMinute) => {
      team.ratePerMinute = perMinute;
      team.version += 1;
    },
  };
}

function sortedById<R extends { readonly id: number }>(rows: ReadonlyMap<number, R>): readonly R[] {
  return [...rows.values()].sort((a, b) => a.id - b.id);
}

function present<R>(rows: ReadonlyMap<number, R>, id: number): R {
  const row = rows.get(id);
  if (row === undefined) throw new Error(`The emulated team has no row ${id}.`);
  return row;
}

function put<R extends { readonly id: number }>(team: PlayedTeam, rows: Map<number, R>, row: R): R {
  rows.set(row.id, row);
  team.version += 1;
  return row;
}

function drop<R>(team: PlayedTeam, rows: Map<number, R>, id: number): void {
  present(rows, id);
  rows.delete(id);
  team.version += 1;
}
