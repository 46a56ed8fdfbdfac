-- The latest retention time. Unlike `at`, it does not follow a clock that was set back.
alter table retention_time add column latest timestamptz;
update retention_time set latest = at;
