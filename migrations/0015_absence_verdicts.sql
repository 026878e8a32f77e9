-- What is known of a missing row, or was said of it, for as long as it is missing.

alter table sync.absences
  add column verdict text check (verdict in ('approved', 'left', 'found')),
  add column verdict_scope text,
  add column decided_at timestamptz,
  add constraint absences_decided check ((verdict is null) = (decided_at is null) and (verdict is not null or verdict_scope is null));
comment on column sync.absences.verdict is 'approved: a person agreed that it may be called gone. left: a person left it out of an approval, so it waits on. found: the service says that it is there, though the listing does not show it; it stays in the mirror. NULL: none of these.';
comment on column sync.absences.verdict_scope is 'The scope (sync.scopes) for which the verdict counts; NULL: for any.';
comment on column sync.absences.decided_at is 'When the verdict was given; of found rows, when the service said so last.';

alter table sync.withheld_absences add column scope text;
comment on column sync.withheld_absences.scope is 'What the settings asked for when it was found: an approval counts for that.';

update sync.absences a set verdict = 'approved', decided_at = w.decided_at
from sync.withheld_absences w
where w.state = 'approved' and w.expires_at > clock_timestamp() and w.team_id = a.team_id
  and w.resource = a.resource and a.id = any (w.ids);
alter table sync.withheld_absences drop column expires_at;
