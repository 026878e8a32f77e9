-- The ledger says of a decision that was taken back what was set back by that, and of a resolved field that neither side won.

comment on column sync.changes.outcome is 'By field of a push: confirmed, ineffective, changed, missing, refused, unsent, unanswered or unknown. Of a rejection: withdrawn, where the mirror was given back. Of a resolved field: edited, where a person gave it another value than that of either side.';
comment on column report.changes.outcome is 'Of a push: confirmed, ineffective, changed, missing, refused, unsent or unknown. Of a rejection: withdrawn, where the mirror was given back. Of a resolved field: edited, where it was given another value than that of either side.';
comment on column report.decisions.decision is 'approve: it may pass. reject: it is not sent. resolve: which value it is to have. undo: one of these was taken back; it is undecided again, or the field was set back by an edit of whoever took it back.';
