/** Made from the catalogs: see "Adding a migration" in CONTRIBUTING.md. */
import type { ColumnType, Generated, GeneratedAlways } from 'kysely';

/** Every table and view with its columns. JSON is written as text: pg would make an array of Postgres's of a list. */
export interface Schema {
  'mirror.contact_counts': {
    team_id: bigint;
    segment: string;
    counted_at: Date;
    count: bigint;
  };
  'mirror.contact_fields': {
    team_id: bigint;
    id: bigint;
    title: string | null;
    op: string | null;
    rev: bigint | null;
    tid: bigint | null;
    uid: bigint | null;
    first_seen_at: Generated<Date>;
    gone_at: Date | null;
    raw: ColumnType<unknown, string | undefined, string>;
  };
  'mirror.tags': {
    team_id: bigint;
    id: bigint;
    tag: string | null;
    color: string | null;
    rev: bigint | null;
    created: string | null;
    updated: string | null;
    first_seen_at: Generated<Date>;
    gone_at: Date | null;
    raw: ColumnType<unknown, string | undefined, string>;
  };
  'mirror.team_roles': {
    role_name: string;
    team_id: bigint | null;
    all_teams: Generated<boolean>;
  };
  'mirror.teams': {
    team_id: bigint;
    name: string | null;
    list_size: bigint | null;
    raw: ColumnType<unknown, string | undefined, string>;
    changed_at: Generated<Date>;
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
    resource: 'users' | 'tags' | 'contact_fields';
    id: bigint;
    missing_since: Date;
    passes: Generated<number>;
    verdict: 'approved' | 'left' | 'found' | null;
    verdict_scope: string | null;
    decided_at: Date | null;
    batch: string | null;
    detail: string | null;
    scope: string | null;
    withheld_at: Date | null;
    decided_by: string | null;
    decided_why: string | null;
  };
  'sync.changes': {
    change_id: GeneratedAlways<bigint>;
    team_id: bigint;
    user_id: bigint;
    run_id: bigint | null;
    kind: 'adopt' | 'pull' | 'push' | 'settle' | 'hold' | 'tombstone' | 'forget' | 'approve' | 'reject' | 'resolve';
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
  };
  'sync.edits': {
    edit_id: bigint | null;
    team_id: bigint | null;
    user_id: bigint | null;
    field: string | null;
    old_value: ColumnType<unknown, string | null, string | null>;
    new_value: ColumnType<unknown, string | null, string | null>;
    edited_at: Date | null;
    edited_by: string | null;
    application: string | null;
    actor: string | null;
    xid: string | null;
  };
  'sync.held_fields': {
    team_id: bigint;
    user_id: bigint | null;
    field: 'name' | 'email' | 'phone' | 'role_id';
    reason: 'conflict' | 'refused' | 'ineffective' | 'unsupported' | 'gone' | 'limit' | 'review' | 'asked' | 'rejected';
    base_value: ColumnType<unknown, string | null, string | null>;
    mirror_value: ColumnType<unknown, string | null, string | null>;
    service_value: ColumnType<unknown, string | null, string | null>;
    detail: Generated<string>;
    since: Generated<Date>;
    run_id: bigint | null;
    until: Date | null;
    shown_value: ColumnType<unknown, string | null, string | null>;
    batch: string | null;
    told_at: Date | null;
    decision: 'approved' | 'resolved' | null;
    decided_at: Date | null;
    decided_by: string | null;
    decided_why: string | null;
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
  'sync.migration_lock': {
    id: string;
    is_locked: Generated<number>;
  };
  'sync.migrations': {
    name: string;
    timestamp: string;
    checksum: string | null;
  };
  'sync.rate_limits': {
    team: string;
    next_at: Date;
    counted: ColumnType<unknown, string | undefined, string>;
  };
  'sync.rejected_rows': {
    rejected_id: GeneratedAlways<bigint>;
    team_id: bigint;
    run_id: bigint;
    resource: string;
    id: bigint | null;
    reason: string;
    excerpt: string;
    seen_at: Generated<Date>;
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
  };
  'sync.stale_rows': {
    team_id: bigint;
    id: bigint;
    since: Generated<Date>;
    passes: Generated<number>;
  };
  'sync.teams': {
    team: string;
    team_id: bigint;
    pinned_at: Generated<Date>;
    edit_key: Generated<string>;
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
  };
  'sync.user_edits': {
    edit_id: GeneratedAlways<bigint>;
    xid: string;
    team_id: bigint;
    user_id: bigint;
    edited_at: Date;
    edited_by: string;
    application: string | null;
    actor: string | null;
    old_first_name: string | null;
    new_first_name: string | null;
    old_last_name: string | null;
    new_last_name: string | null;
    old_name_split: string | null;
    new_name_split: string | null;
    old_email: string | null;
    new_email: string | null;
    old_phone: string | null;
    new_phone: string | null;
    old_role_id: bigint | null;
    new_role_id: bigint | null;
  };
  'report.changes': {
    change_id: bigint | null;
    team_id: bigint | null;
    user_id: bigint | null;
    name: string | null;
    run_id: bigint | null;
    kind: string | null;
    field: string | null;
    base_value: ColumnType<unknown, string | null, string | null>;
    old_value: ColumnType<unknown, string | null, string | null>;
    new_value: ColumnType<unknown, string | null, string | null>;
    outcome: string | null;
    request_id: string | null;
    opened_at: Date | null;
    closed_at: Date | null;
    decided_by: string | null;
    decided_why: string | null;
  };
  'report.contact_counts_daily': {
    team_id: bigint | null;
    segment: string | null;
    day: string | null;
    count: bigint | null;
    lowest: bigint | null;
    highest: bigint | null;
    samples: bigint | null;
    change: bigint | null;
  };
  'report.contact_fields': {
    team_id: bigint | null;
    contact_field_id: bigint | null;
    title: string | null;
    first_seen_at: Date | null;
    gone_at: Date | null;
    present: boolean | null;
  };
  'report.held': {
    team_id: bigint | null;
    user_id: bigint | null;
    name: string | null;
    field: string | null;
    reason: string | null;
    base_value: ColumnType<unknown, string | null, string | null>;
    mirror_value: ColumnType<unknown, string | null, string | null>;
    service_value: ColumnType<unknown, string | null, string | null>;
    detail: string | null;
    since: Date | null;
    run_id: bigint | null;
    until: Date | null;
    mirror_value_then: ColumnType<unknown, string | null, string | null>;
    service_value_then: ColumnType<unknown, string | null, string | null>;
    batch: string | null;
    decided_at: Date | null;
    decided_by: string | null;
    decided_why: string | null;
  };
  'report.pending': {
    team_id: bigint | null;
    user_id: bigint | null;
    name: string | null;
    field: string | null;
    base_value: ColumnType<unknown, string | null, string | null>;
    mirror_value: ColumnType<unknown, string | null, string | null>;
    state: string | null;
    held_because: string | null;
    edited_at: Date | null;
    edited_by: string | null;
  };
  'report.roster': {
    team_id: bigint | null;
    team: string | null;
    user_id: bigint | null;
    name: string | null;
    first_name: string | null;
    last_name: string | null;
    email: string | null;
    phone: string | null;
    role_id: bigint | null;
    role: string | null;
    resolved: boolean | null;
    created_at: Date | null;
    updated_at: Date | null;
    edited_at: Date | null;
    edited_by: string | null;
  };
  'report.runs': {
    run_id: bigint | null;
    team: string | null;
    team_id: bigint | null;
    command: string | null;
    started_at: Date | null;
    finished_at: Date | null;
    duration: unknown;
    outcome: string | null;
    reasons: readonly string[] | null;
    counts: ColumnType<unknown, string | null, string | null>;
    waiting: number | null;
    requests: number | null;
    request_ids: readonly string[] | null;
    groups: readonly string[] | null;
  };
  'report.tags': {
    team_id: bigint | null;
    tag_id: bigint | null;
    tag: string | null;
    color: string | null;
    created: string | null;
    updated: string | null;
    first_seen_at: Date | null;
    gone_at: Date | null;
    present: boolean | null;
  };
}
