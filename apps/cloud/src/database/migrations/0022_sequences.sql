-- What resources of a machine part captured in a time range. The machine may be gone: what it captured stays.
create table sequence (
  org_id uuid not null references organization on delete cascade,
  id uuid not null,
  part_id uuid not null,
  -- Of one length. An empty method means every one.
  resource_names text[] not null,
  method_names text[] not null,
  tags text[] not null default '{}',
  start_time timestamptz(6) not null,
  end_time timestamptz(6) not null check (end_time > start_time),
  created_on timestamptz(6) not null default now(),
  updated_on timestamptz(6) not null default now(),
  primary key (org_id, id),
  unique (id),
  check (cardinality(resource_names) = cardinality(method_names))
);
create index on sequence (org_id, created_on, id);

create table sequence_member (
  org_id uuid not null,
  dataset_id uuid not null,
  sequence_id uuid not null,
  primary key (org_id, dataset_id, sequence_id),
  foreign key (org_id, dataset_id) references dataset on delete cascade,
  foreign key (org_id, sequence_id) references sequence on delete cascade
);
create index on sequence_member (org_id, sequence_id);

-- A Parquet file of what the sequences of a dataset cover, on its way or made.
create table sequence_export (
  org_id uuid not null,
  id uuid not null,
  dataset_id uuid not null,
  state text not null check (state in ('running', 'completed', 'failed')),
  attempts int not null default 0,
  file_sha256 text,
  size_bytes bigint,
  error_message text not null default '',
  created_on timestamptz(3) not null,
  completed_on timestamptz(3),
  primary key (org_id, id),
  unique (id),
  foreign key (org_id, dataset_id) references dataset on delete cascade,
  check ((state = 'completed') = (file_sha256 is not null)),
  check ((state = 'running') = (completed_on is null))
);
create unique index on sequence_export (org_id, dataset_id) where state = 'running';
create index on sequence_export (created_on) where state = 'running';
create index on sequence_export (completed_on) where completed_on is not null;
create index on sequence_export (file_sha256) where file_sha256 is not null;
