-- The last runs of the agent of each part. Two that check in by turns are two computers with the same credentials.
create table part_run (
  part_id uuid not null references part on delete cascade,
  run_id bytea not null check (length(run_id) = 16),
  first_seen timestamptz(3) not null,
  -- Time at which its last check was sent. Written now and then, and once a minute while runs alternate.
  last_sent timestamptz(3) not null,
  -- Since when it is proven that it went on after a later run had begun; null: it is not.
  returned_on timestamptz(3),
  hostname text not null default '',
  address text not null default '',
  link_addresses text[] not null default '{}',
  primary key (part_id, run_id)
);
create index part_run_returned on part_run (part_id) where returned_on is not null;

-- The run whose report is stored; null: its agent sends no run.
alter table part add column report_run bytea;

-- Runs that are to become machines of their own: each gets a set-up code for the new part.
create table machine_split (
  part_id uuid primary key references part on delete cascade,
  run_id bytea not null check (length(run_id) = 16),
  new_part_id uuid not null unique references part on delete cascade,
  -- The set-up code is derived from it, so that every server gives the same one.
  code_seed uuid not null,
  created_on timestamptz(3) not null default now()
);
