-- Plans: which approvals pass the brakes; and what the rows of a plan and the number of a run say by now.

alter table sync.plans add column passes_brakes boolean not null default false;
comment on column sync.plans.passes_brakes is 'An approval of single fields ("musterd resolve"): they pass the brakes as well as the limits.';
update sync.plans set passes_brakes = true where state = 'approved' and reasons = array['resolved'];
comment on column sync.plans.changes is 'Per user: user_id, name, base (the values last agreed on), service (the service''s values), patch (the values to be sent), each by field, and left (fields that wait until a person decides, however few they are).';
comment on column sync.runs.waiting is 'What waited for a person when it ended: held fields, and users in a refused plan.';
comment on column report.runs.waiting is 'What waited for a person when it ended: held fields, and users in a refused plan.';
