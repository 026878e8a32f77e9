-- A team of which more than half was replaced waits for an approval; so does a field that many users no longer have.

comment on column sync.absences.passes is 'How many complete passes have missed it; 0: none yet, but a person is asked whether it is gone.';
comment on table sync.withheld_absences is 'Rows that are not called gone before a person agrees: a complete listing no longer shows them, and they are too many at once or the settings ask for less than before; or the team lists other people than the mirror holds.';

alter table sync.plans add column lacking text[] not null default '{}';
comment on column sync.plans.lacking is 'Fields that many users no longer have. refused: the plan is refused for that. approved: it is no reason any more, until the users have the field again.';
