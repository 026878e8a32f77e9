-- A plan can be applied as it was shown.

comment on column sync.runs.command is 'The command that ran: reconcile, daemon, apply, resolve or resync.';
comment on column sync.changes.batch is 'Of an approval or a rejection: the batch, the import or undo, or the plan that was applied: that one has a run, and is applied once.';
