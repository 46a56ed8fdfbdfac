-- How often the quarantine of a part was cleared: what a machine gave up under a smaller count may be tried again.
alter table part
  add column quarantine_clearance bigint not null default 0,
  add column quarantine_cleared_on timestamptz(3);
