/**
 * The service's answers, as the library returns them: docs/client.md. A field is `null` if the service left it out,
 * or gave `null` or a value of another type. `raw` has the values that the fields do not show.
 */
import type { Id } from '../../model/id.ts';
import type { NamePair } from '../../model/name.ts';
import type { RejectedRow } from '../../model/rejected-row.ts';
import type { JsonObject } from '../json-object.ts';

/** An inbox, with the service phone numbers that messages are sent from. */
export interface Inbox {
  readonly id: Id;
  readonly name: string | null;
  /** The id of the team. */
  readonly team: Id | null;
  /** The ids of the team members who have access. */
  readonly members: readonly Id[] | null;
  readonly phones: readonly string[] | null;
  readonly phone: string | null;
  readonly allowedDomains: readonly string[] | null;
  readonly autoAssignable: boolean | null;
  readonly bcoChats: boolean | null;
  readonly forwardNumber: string | null;
  readonly invited: readonly string[] | null;
  readonly op: string | null;
  readonly rev: bigint | null;
  readonly widgetCode: string | null;
  /** As the service wrote it. */
  readonly widgetSettings: JsonObject | null;
  readonly raw: JsonObject;
}

/** A user of the team, also called a membership. Timestamps are ISO 8601 in UTC, as the service wrote them. */
export interface User {
  readonly id: Id;
  readonly name: string | null;
  readonly email: string | null;
  /** Digits in E.164 form without the plus sign. */
  readonly phone: string | null;
  readonly roleId: Id | null;
  readonly teamId: Id | null;
  readonly createdAt: string | null;
  readonly updatedAt: string | null;
  readonly userCreatedAt: string | null;
  readonly userUpdatedAt: string | null;
  readonly raw: JsonObject;
}

/** The users of one answer. */
export interface UserList {
  readonly users: readonly User[];
  /** Entries of the answer that could not be read as users. */
  readonly rejected: readonly RejectedRow[];
  /** The `X-Request-Id` of the answer. */
  readonly requestId: string | null;
}

/** The changes to one user. Fields that are left out stay unchanged. */
export interface UserUpdateRequest {
  readonly id: Id;
  /** Both halves of the name. If only one half is sent, the service overwrites the other. */
  readonly name?: NamePair;
  readonly email?: string;
  /** The phone in any spelling; `null` removes it. */
  readonly phone?: string | null;
  readonly roleId?: Id;
}

/** The definition of a custom field of contacts. */
export interface ContactField {
  readonly id: Id;
  readonly title: string | null;
  readonly op: string | null;
  readonly rev: bigint | null;
  readonly tid: bigint | null;
  readonly uid: bigint | null;
  readonly raw: JsonObject;
}

/** A tag of contacts. */
export interface Tag {
  readonly id: Id;
  readonly teamId: Id | null;
  /** The name of the tag. */
  readonly tag: string | null;
  readonly color: string | null;
  readonly rev: bigint | null;
  readonly created: string | null;
  readonly updated: string | null;
  readonly raw: JsonObject;
}

/** A survey. Some deployments leave the question out of the listing. `survey(id)` returns the question, too. */
export interface Survey {
  readonly id: Id;
  readonly name: string | null;
  readonly type: string | null;
  readonly question: string | null;
  readonly created: string | null;
  readonly updated: string | null;
  readonly raw: JsonObject;
}
