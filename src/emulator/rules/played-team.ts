import type { TeamSecret } from '../options.ts';
import type { Moment } from '../wire/show-timestamp.ts';

/** A user as the service keeps it, with both halves of the name. A read shows only the joined name. */
export interface UserRecord {
  readonly id: number;
  readonly first: string;
  readonly last: string;
  /** `null` if the user has no email. */
  readonly email: string | null;
  readonly phone: string | null;
  readonly roleId: number;
  readonly created: Moment;
  readonly updated: Moment;
  readonly userCreated: Moment;
  readonly userUpdated: Moment;
  /** True if the team's `members` include the user. */
  readonly listed: boolean;
  /** True if `users/get` returns the user. */
  readonly answered: boolean;
}

export interface TagRecord {
  readonly id: number;
  readonly tag: string;
  readonly color: string;
  readonly rev: number;
  readonly created: Moment;
  readonly updated: Moment;
}

export interface FieldRecord {
  readonly id: number;
  readonly title: string;
  readonly uid: number;
  readonly op: string;
  readonly rev: number;
}

export interface SurveyRecord {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly question: string;
  readonly created: Moment;
  readonly updated: Moment;
}

export interface InboxRecord {
  readonly id: number;
  readonly name: string;
  readonly members: readonly number[];
  readonly phones: readonly string[];
  readonly rev: number;
}

/** A scheduled message: the request as sent (interface.md, note 3), and the fields that the service adds. */
export interface ScheduleRecord {
  readonly id: number;
  readonly uuid: string;
  readonly rev: number;
  readonly op: string;
  readonly state: 'waiting' | 'sent' | 'cancelled';
  /** The number of requests that created this message: above 1 if its `local_id` was sent again. */
  readonly creates: number;
  readonly created: Moment;
  readonly updated: Moment;
  readonly request: Readonly<Record<string, unknown>>;
}

/** A message as one recipient got it. */
export interface DeliveryRecord {
  readonly scheduleId: number;
  readonly localId: string | undefined;
  readonly inboxId: number;
  /** A phone number as sent, or `conversation 7` or `list 3`, whose members the emulator does not know. */
  readonly recipient: string;
  /** The time at which the message was due. */
  readonly at: string;
  readonly content: unknown;
}

/** The content of one team, as plain values. */
export interface PlayedTeam {
  readonly id: number;
  name: string;
  listSize: number;
  /** Role names by id. The interface documents no mapping. It shows the name and the id in different places. */
  readonly roles: Map<number, string>;
  readonly users: Map<number, UserRecord>;
  readonly usersByEmail: Map<string, Set<number>>;
  readonly usersByPhone: Map<string, Set<number>>;
  readonly tags: Map<number, TagRecord>;
  readonly fields: Map<number, FieldRecord>;
  readonly surveys: Map<number, SurveyRecord>;
  readonly inboxes: Map<number, InboxRecord>;
  readonly schedules: Map<number, ScheduleRecord>;
  /** Conversations that were marked as read, the newest last. */
  readonly conversationsRead: Readonly<Record<string, unknown>>[];
  /** Delivered messages, the newest last. */
  readonly deliveries: DeliveryRecord[];
  contacts: number;
  /** The contact counts that a test set, by the `segmentOf` of the request's pagination body. */
  readonly segments: Map<string, number>;
  readonly secrets: TeamSecret[];
  apiKey: string | undefined;
  ratePerMinute: number;
  /** The id that the next row of any kind gets. */
  nextId: number;
  /** Increases with each change of a row, so that sorted listings can be cached. */
  version: number;
}

export function createTeam(id: number, name: string): PlayedTeam {
  return {
    id,
    name,
    listSize: 2000,
    roles: new Map(),
    users: new Map(),
    usersByEmail: new Map(),
    usersByPhone: new Map(),
    tags: new Map(),
    fields: new Map(),
    surveys: new Map(),
    inboxes: new Map(),
    schedules: new Map(),
    conversationsRead: [],
    deliveries: [],
    contacts: 0,
    segments: new Map(),
    secrets: [],
    apiKey: undefined,
    ratePerMinute: 500,
    nextId: id * 1_000_000 + 1,
    version: 0,
  };
}

/** Stores a new or changed user, and updates the lookups by email and phone. */
export function putUser(team: PlayedTeam, user: UserRecord): void {
  const before = team.users.get(user.id);
  if (before !== undefined) forgetKeys(team, before);
  team.users.set(user.id, user);
  if (user.email !== null) keyed(team.usersByEmail, emailKey(user.email)).add(user.id);
  if (user.phone !== null) keyed(team.usersByPhone, user.phone).add(user.id);
  team.version += 1;
}

export function dropUser(team: PlayedTeam, id: number): boolean {
  const before = team.users.get(id);
  if (before === undefined) return false;
  forgetKeys(team, before);
  team.users.delete(id);
  team.version += 1;
  return true;
}

/** The key for lookups by email, which ignore the case of ASCII letters. */
export function emailKey(email: string): string {
  return email.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

export function nextId(team: PlayedTeam): number {
  const id = team.nextId;
  team.nextId += 1;
  return id;
}

function forgetKeys(team: PlayedTeam, user: UserRecord): void {
  if (user.email !== null) team.usersByEmail.get(emailKey(user.email))?.delete(user.id);
  if (user.phone !== null) team.usersByPhone.get(user.phone)?.delete(user.id);
}

function keyed(index: Map<string, Set<number>>, key: string): Set<number> {
  const there = index.get(key);
  if (there !== undefined) return there;
  const fresh = new Set<number>();
  index.set(key, fresh);
  return fresh;
}
