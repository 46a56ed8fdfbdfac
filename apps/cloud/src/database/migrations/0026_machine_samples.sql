-- What machines use: batches of samples as they sent them, one sample a minute each.
create table part_sample (
  part_id uuid not null references part on delete cascade,
  -- Times of the samples, as the machine knew them.
  first_time timestamptz(0) not null,
  last_time timestamptz(0) not null,
  stored_on timestamptz(0) not null default now(),
  -- A message platform.fleet.v1.SampleBatch.
  batch bytea not null
);
create index on part_sample (part_id, last_time);
create index on part_sample (stored_on);

-- The last sample that a part sent: each is stored once. And how many it sent on a day of the server's clock.
create table part_sample_state (
  part_id uuid primary key references part on delete cascade,
  spool_id text not null default '',
  last_sequence bigint not null default 0,
  day date not null default current_date,
  day_count integer not null default 0
);
