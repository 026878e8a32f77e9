-- Indexes for tables that only ever grow: what every run asks of them is as quick after a year as on the first day.

create index changes_by_day on sync.changes (team_id, opened_at) where kind in ('push', 'settle');
comment on index sync.changes_by_day is 'What was sent or agreed on in the last day: the guard''s limit, and approvals that were used.';

create index plans_approved on sync.plans (team_id, expires_at) where state = 'approved';
comment on index sync.plans_approved is 'The approvals that count still.';

create index runs_running on sync.runs (team) where outcome = 'running';
comment on index sync.runs_running is 'The run that a process did not finish.';

create index runs_two_way on sync.runs (team, run_id desc)
  where command in ('reconcile', 'daemon') and 'users' = any (groups);
comment on index sync.runs_two_way is 'The last two-way run that was tried, however many others there were since.';
create index runs_complete on sync.runs (team, run_id desc)
  where command in ('reconcile', 'daemon') and 'users' = any (groups) and outcome = 'complete';
comment on index sync.runs_complete is 'The last complete two-way run, however long ago.';

-- Whoever deletes old runs asks each of these tables for every one of them.
create index held_fields_by_run on sync.held_fields (run_id);
create index rejected_rows_by_run on sync.rejected_rows (run_id);
create index plans_by_run on sync.plans (run_id);
create index withheld_absences_by_run on sync.withheld_absences (run_id);
comment on index sync.held_fields_by_run is 'Lets old runs be deleted.';
comment on index sync.rejected_rows_by_run is 'Lets old runs be deleted.';
comment on index sync.plans_by_run is 'Lets old runs be deleted.';
comment on index sync.withheld_absences_by_run is 'Lets old runs be deleted.';

-- An unknown field may be another in every answer, such as the time when somebody was last seen.
comment on column mirror.teams.raw is 'Whatever else the service said of the team when the row last changed: a change of this alone is not taken.';
comment on column mirror.users.raw is 'Whatever else the service said of the user when the row last changed: a change of this alone is not taken.';
comment on column mirror.tags.raw is 'Whatever else the service said of the tag when the row last changed: a change of this alone is not taken.';
comment on column mirror.contact_fields.raw is 'Whatever else the service said of the field when the row last changed: a change of this alone is not taken.';
