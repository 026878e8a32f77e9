-- What people are told of a team, so that they are told once, whichever daemon does it and however often it starts.

alter table sync.runs add column error_code text;
comment on column sync.runs.error_code is 'The error that ended it early, as under --json: credentials, service, mirror …; unexpected where nobody foresaw it. NULL: it came to its end, or its process ended before it did.';

comment on column sync.learned.topic is '"credential" and the first 16 hex digits of the SHA-256 of a Secret ID or an API key. "listing" and tags or contact_fields: how its pages are read. "notice" and failing, stale, credentials-refused, batch-waits or fields-held: what people were told of that, by notify.url. "rate": the pace that the service stands. "scope" and users, tags or contact_fields: what the settings asked for when a complete pass last left nothing in doubt; when that changes, a row that is no longer shown may be there all the same. Anything else: what "musterd check" or a run found out about a point that the interface leaves open.';
comment on column sync.learned.value is 'What it is known to be; of a credential: true; of a scope: the first 12 hex digits of the SHA-256 of the service''s address and the filter; of a notice: whether it says that the event stands, its id, and how often it was sent (times in ms since 1970).';
