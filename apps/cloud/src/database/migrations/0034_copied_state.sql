-- State of a machine that comes a second time, because its folder was copied or put back.

-- Which samples a batch has: those of one run of the agent follow one another. Null: stored before this version.
alter table part_sample
  -- The first 8 bytes of the sha256 of the spool's ID.
  add column spool bigint,
  add column first_sequence bigint,
  add column last_sequence bigint;
create index on part_sample (part_id, spool, last_sequence) where spool is not null;

-- How many samples came with numbers that others of the machine have: two agents continued one run.
alter table part
  add column repeated_samples bigint not null default 0,
  add column repeated_samples_on timestamptz(3),
  -- The newest request of a system upgrade that the machine reports as done. An older state of it must not do it again.
  add column system_upgrades_done bigint not null default 0;
