/** This file is generated from the catalogs: see "Adding a migration" in CONTRIBUTING.md. */
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** Each table and view that the code names, with its columns. JSON is written as text: pg would turn a list into an array of Postgres. */
export interface Schema {
  'mirror.contact_counts': {
    team_id: bigint;
    segment: string;
    counted_at: Date;
    count: bigint;
  };
  'mirror.roles': {
    team_id: bigint;
    role_id: bigint;
    name: string | null;
    members: bigint;
    first_seen_at: Generated<Date>;
    gone_at: Date | null;
  };
  'mirror.teams': {
    team_id: bigint;
    name: string | null;
    list_size: bigint | null;
    raw: ColumnType<unknown, string | undefined, string>;
    changed_at: Generated<Date>;
    members: bigint | null;
  };
  'mirror.user_lookups': {
    lookup_id: GeneratedAlways<bigint>;
    team_id: bigint;
    email: string | null;
    phone: string | null;
    added_at: Generated<Date>;
  };
  'mirror.users': {
    team_id: bigint;
    id: bigint;
    name: Generated<string>;
    first_name: Generated<string>;
    last_name: Generated<string>;
    name_split: Generated<'known' | 'guessed'>;
    email: string | null;
    phone: string | null;
    role_id: bigint | null;
    role: string | null;
    created_at: Date | null;
    updated_at: Date | null;
    user_created_at: Date | null;
    user_updated_at: Date | null;
    resolved: boolean;
    gone_at: Date | null;
    raw: ColumnType<unknown, string | undefined, string>;
    edited_at: Date | null;
    edited_by: string | null;
  };
  'sync.absences': {
    team_id: bigint;
    resource: string;
    id: bigint;
    missing_since: Date;
    passes: Generated<number>;
    verdict: 'approved' | 'left' | 'found' | null;
    decided_at: Date | null;
    batch: string | null;
    detail: string | null;
    withheld_at: Date | null;
    decided_by: string | null;
    decided_why: string | null;
    decided_role: string | null;
  };
  'sync.changes': {
    change_id: GeneratedAlways<bigint>;
    team_id: bigint;
    user_id: bigint | null;
    run_id: bigint | null;
    kind: 'adopt' | 'return' | 'pull' | 'push' | 'settle' | 'hold' | 'tombstone' | 'forget' | 'approve' | 'reject' | 'resolve' | 'undo' | 'place' | 'call';
    state: Generated<'open' | 'closed'>;
    base: ColumnType<unknown, string | undefined, string>;
    old: ColumnType<unknown, string | undefined, string>;
    new: ColumnType<unknown, string | undefined, string>;
    outcome: ColumnType<unknown, string | undefined, string>;
    request_id: string | null;
    opened_at: Generated<Date>;
    sent_at: Date | null;
    closed_at: Date | null;
    approved: Generated<boolean>;
    decided_by: string | null;
    decided_why: string | null;
    decided_role: string | null;
    batch: string | null;
    edited_by: ColumnType<unknown, string | null, string | null>;
    edits: ColumnType<unknown, string | null, string | null>;
    decision_id: bigint | null;
  };
  'sync.due': {
    team: string;
    run_group: 'users' | 'listings' | 'counts' | 'edits';
    schedule: Generated<string>;
    due_at: Generated<Date>;
    since: Generated<Date>;
    started_at: Date | null;
    finished_at: Date | null;
    outcome: string | null;
    failures: Generated<number>;
    complete_at: Date | null;
    mark: string | null;
    stale_after: unknown;
  };
  'sync.edits': {
    edit_id: GeneratedAlways<bigint>;
    xid: string;
    team_id: bigint;
    user_id: bigint;
    field: 'name' | 'name_split' | 'email' | 'phone' | 'role_id';
    old_value: ColumnType<unknown, string | null, string | null>;
    new_value: ColumnType<unknown, string | null, string | null>;
    old_split: string | null;
    edited_at: Date;
    edited_by: string | null;
    application: string | null;
    actor: string | null;
    authors: readonly string[];
    ended_at: Date | null;
    ended_how: 'agreed' | 'overruled' | 'withdrawn' | 'replaced' | 'forgotten' | null;
  };
  'sync.held_fields': {
    team_id: bigint;
    user_id: bigint;
    field: 'name' | 'email' | 'phone' | 'role_id';
    reason: 'conflict' | 'refused' | 'ineffective' | 'unsupported' | 'returned' | 'limit' | 'review' | 'asked';
    base_value: ColumnType<unknown, string | null, string | null>;
    mirror_value: ColumnType<unknown, string | null, string | null>;
    service_value: ColumnType<unknown, string | null, string | null>;
    detail: Generated<string>;
    since: Generated<Date>;
    run_id: bigint | null;
    until: Date | null;
    shown_value: ColumnType<unknown, string | null, string | null>;
    batch: string | null;
    decision: 'approved' | 'spent' | 'rejected' | null;
    edit_id: bigint | null;
    asked_by: string | null;
    asked_why: string | null;
    alone: Generated<boolean>;
  };
  'sync.learned': {
    team: string;
    topic: string;
    value: ColumnType<unknown, string, string>;
    learned_at: Generated<Date>;
  };
  'sync.leases': {
    team: string;
    lease_id: string;
    host: string;
    pid: bigint;
    process: string;
    taken_at: Date;
    expires_at: Date;
  };
  'sync.migrations': {
    name: string;
    timestamp: string;
    checksum: string | null;
  };
  'sync.runs': {
    run_id: GeneratedAlways<bigint>;
    team: string;
    team_id: bigint | null;
    command: string;
    started_at: Generated<Date>;
    finished_at: Date | null;
    outcome: Generated<'running' | 'complete' | 'partial' | 'failed' | 'refused'>;
    reasons: Generated<readonly string[]>;
    counts: ColumnType<unknown, string | undefined, string>;
    waiting: Generated<number>;
    requests: Generated<number>;
    request_ids: Generated<readonly string[]>;
    groups: Generated<readonly string[]>;
    error_code: string | null;
    endpoints: ColumnType<unknown, string | undefined, string>;
  };
  'sync.teams': {
    team: string;
    team_id: bigint;
    pinned_at: Generated<Date>;
    edit_key: Generated<string>;
    four_eyes: Generated<boolean>;
    phone_country: string | null;
  };
  'sync.user_base': {
    team_id: bigint;
    id: bigint;
    name: string;
    first_name: string;
    last_name: string;
    email: string | null;
    phone: string | null;
    role_id: bigint | null;
    agreed_at: Generated<Date>;
    older_since: Date | null;
    older_passes: number | null;
  };
  'sync.user_periods': {
    team_id: bigint;
    user_id: bigint;
    valid_from: Date;
    valid_to: Generated<Date>;
    present: boolean;
    name: string;
    first_name: string;
    last_name: string;
    email: string | null;
    phone: string | null;
    role_id: bigint | null;
    role: string | null;
    resolved: boolean;
    created_at: Date | null;
    updated_at: Date | null;
    edited_at: Date | null;
    edited_by: string | null;
    side: 'mirror' | 'service' | null;
    run_id: bigint | null;
    changed_by: string | null;
    actor: string | null;
    role_moved: Generated<boolean>;
    role_arrived_at: Generated<Date | null>;
  };
}
