-- Sign-in links stood in log files: those that nobody used end here.
delete from sign_in_link where used_on is null;

-- The API key behind a link or a session, at whatever distance: both end when it is rotated or deleted.
alter table sign_in_link add by_key_id uuid;
alter table browser_session add by_key_id uuid;
create index on sign_in_link (by_key_id) where by_key_id is not null;
create index on browser_session (by_key_id) where by_key_id is not null;
