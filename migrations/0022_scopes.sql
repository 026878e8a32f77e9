-- What the settings asked for when absences were last judged is kept with what was learned of the team's deployment.

insert into sync.learned (team, topic, value, learned_at)
select t.team, 'scope ' || s.resource, to_jsonb(s.scope), s.since from sync.scopes s join sync.teams t using (team_id);
drop table sync.scopes;

comment on table sync.learned is 'What was learned of a team''s deployment, from run to run.';
comment on column sync.learned.topic is '"credential" and the first 16 hex digits of the SHA-256 of a Secret ID or an API key. "listing" and tags or contact_fields: how its pages are read. "rate": the pace that the service stands. "scope" and users, tags or contact_fields: what the settings asked for when a complete pass last left nothing in doubt; when that changes, a row that is no longer shown may be there all the same. Anything else: what "musterd check" or a run found out about a point that the interface leaves open.';
comment on column sync.learned.value is 'What it is known to be; of a credential: true; of a scope: the first 12 hex digits of the SHA-256 of the service''s address and the filter.';
comment on column sync.absences.verdict_scope is 'The scope (sync.learned) for which the verdict counts; NULL: for any.';
