-- Who may not be equal on both sides, without a look at everybody.

create index users_not_at_rest on mirror.users (team_id, id)
  where edited_at is not null or not resolved or gone_at is not null;
comment on index mirror.users_not_at_rest is 'Whoever was edited here, is unresolved or has left: the page counts the others.';
