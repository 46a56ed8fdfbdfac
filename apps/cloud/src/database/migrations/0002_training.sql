-- Captured data, datasets, training jobs, the registry. Ids are UUIDv4, made by the application; keys carry org_id.
-- A row that names a file by its sha256 is written after the file is on the disk: a file without a row is harmless.

create table binary_data (
  org_id uuid not null references organization on delete cascade,
  id uuid not null,
  location_id text not null,
  machine_id uuid,
  machine_name text not null default '',
  part_id uuid,
  part_name text not null default '',
  sha256 text not null,
  size_bytes bigint not null,
  file_name text not null default '',
  file_ext text not null default '',
  mime_type text not null default '',
  component_type text not null default '',
  component_name text not null default '',
  method_name text not null default '',
  method_parameters jsonb,
  tags text[] not null default '{}',
  time_requested timestamptz(6) not null,
  time_received timestamptz(6) not null,
  -- What a machine uploads again after a lost answer is the same datum: hash of all that identifies a capture. Null: always new.
  identity bytea,
  primary key (org_id, id),
  unique (org_id, identity)
);
create index on binary_data (org_id, time_requested, id);
create index on binary_data using gin (tags);

create table bounding_box (
  org_id uuid not null,
  id uuid not null,
  binary_id uuid not null,
  label text not null,
  x_min double precision not null,
  y_min double precision not null,
  x_max double precision not null,
  y_max double precision not null,
  confidence double precision,
  ordinal bigint generated always as identity,
  primary key (org_id, id),
  foreign key (org_id, binary_id) references binary_data on delete cascade,
  check (0 <= x_min and x_min < x_max and x_max <= 1 and 0 <= y_min and y_min < y_max and y_max <= 1)
);
create index on bounding_box (org_id, binary_id);

create table classification (
  org_id uuid not null,
  id uuid not null,
  binary_id uuid not null,
  label text not null,
  confidence double precision,
  ordinal bigint generated always as identity,
  primary key (org_id, id),
  foreign key (org_id, binary_id) references binary_data on delete cascade
);
create index on classification (org_id, binary_id);

-- Readings, one row per capture, as they were sent.
create table tabular_data (
  org_id uuid not null references organization on delete cascade,
  id uuid not null,
  location_id text not null,
  machine_id uuid not null,
  machine_name text not null,
  part_id uuid not null,
  part_name text not null,
  component_type text not null,
  component_name text not null,
  method_name text not null,
  method_parameters jsonb,
  tags text[] not null default '{}',
  payload jsonb not null,
  time_requested timestamptz(6) not null,
  time_received timestamptz(6) not null,
  primary key (org_id, id)
);
create index on tabular_data (org_id, part_id, time_requested, id);

create table dataset (
  org_id uuid not null references organization on delete cascade,
  id uuid not null,
  name text not null,
  type text not null check (type in ('binary_data', 'sequence_data')),
  created_on timestamptz(3) not null,
  primary key (org_id, id),
  unique (id),
  unique (org_id, name)
);

create table dataset_member (
  org_id uuid not null,
  dataset_id uuid not null,
  binary_id uuid not null,
  primary key (org_id, dataset_id, binary_id),
  foreign key (org_id, dataset_id) references dataset on delete cascade,
  foreign key (org_id, binary_id) references binary_data on delete cascade
);
create index on dataset_member (org_id, binary_id);

-- What a job trains on: a manifest that never changes. It outlives its dataset and its pictures, hence no reference to them.
create table dataset_version (
  org_id uuid not null references organization on delete cascade,
  id uuid not null,
  dataset_id uuid not null,
  manifest_sha256 text not null,
  pictures bigint not null,
  counts jsonb not null,
  created_on timestamptz(3) not null,
  primary key (org_id, id),
  unique (org_id, dataset_id, manifest_sha256)
);

-- Every model_version ever asked for. Rows are never removed: a version is not free again when its job failed or was deleted.
create table model_version_claim (
  org_id uuid not null references organization on delete cascade,
  model_name text not null,
  model_version text not null,
  claimed_by uuid,
  claimed_on timestamptz(3) not null,
  primary key (org_id, model_name, model_version)
);

create table training_job (
  org_id uuid not null references organization on delete cascade,
  id uuid not null,
  -- As asked for.
  kind text not null,
  model_name text not null,
  model_version text not null,
  model_framework text not null,
  labels text[] not null,
  arguments jsonb not null,
  dataset_id uuid not null,
  dataset_version_id uuid not null,
  manifest_sha256 text not null,
  seed bigint not null,
  limits jsonb not null,
  created_by text not null,
  -- Life, moved on by rules/job-life.ts alone.
  state text not null check (state in ('pending', 'in_progress', 'completed', 'failed', 'canceling', 'canceled')),
  attempt integer not null,
  losses integer not null,
  runner_id text,
  reported boolean not null,
  lease_until timestamptz(3),
  cause text,
  error_code text,
  error_message text,
  -- What the runner told last.
  phase text not null default '',
  progress double precision not null default 0,
  eta_ms bigint,
  deadline timestamptz(3),
  evaluation jsonb,
  model_id text,
  created_on timestamptz(3) not null,
  changed_on timestamptz(3) not null,
  started_on timestamptz(3),
  ended_on timestamptz(3),
  primary key (org_id, id),
  unique (id),
  check ((state in ('in_progress', 'canceling')) = (lease_until is not null))
) with (fillfactor = 70);
create index on training_job (org_id, created_on desc, id);
create index on training_job (org_id, created_on, id) where state = 'pending';
create index on training_job (lease_until) where lease_until is not null;

-- One row per transition, written in the same transaction. Outlives the job.
create table training_event (
  id bigint generated always as identity primary key,
  org_id uuid not null references organization on delete cascade,
  job_id uuid not null,
  at timestamptz(3) not null,
  event text not null,
  from_state text,
  to_state text not null,
  attempt integer not null,
  actor text not null,
  details jsonb
);
create index on training_event (org_id, job_id, id);

-- Attempt 0 is the server itself.
create table training_log (
  org_id uuid not null,
  job_id uuid not null,
  attempt integer not null,
  sequence bigint not null,
  time timestamptz(6) not null,
  level text not null,
  message text not null,
  primary key (org_id, job_id, attempt, sequence),
  foreign key (org_id, job_id) references training_job on delete cascade
);

create table training_metric (
  org_id uuid not null,
  job_id uuid not null,
  attempt integer not null,
  sequence bigint not null,
  time timestamptz(6) not null,
  values jsonb not null,
  primary key (org_id, job_id, attempt, sequence),
  foreign key (org_id, job_id) references training_job on delete cascade
);

create table registry_item (
  org_id uuid not null references organization on delete cascade,
  name text not null,
  type text not null check (type in ('archive', 'ml_model', 'module', 'slam_map', 'ml_training')),
  visibility text not null default 'private' check (visibility in ('private', 'public', 'public_unlisted')),
  description text not null default '',
  url text not null default '',
  metadata jsonb not null default '{}',
  created_on timestamptz(3) not null,
  updated_on timestamptz(3) not null,
  primary key (org_id, name)
);

create table registry_version (
  -- Order of publishing: the greatest is `latest`.
  ordinal bigint generated always as identity,
  org_id uuid not null,
  name text not null,
  version text not null,
  package_sha256 text not null,
  size_bytes bigint not null,
  crc32c bigint not null,
  files jsonb not null,
  metadata jsonb not null default '{}',
  platform text,
  -- Where a trained model comes from; the job may be deleted, the frozen dataset stays.
  job_id uuid,
  dataset_version_id uuid,
  evaluation jsonb,
  created_on timestamptz(3) not null,
  primary key (org_id, name, version),
  foreign key (org_id, name) references registry_item
);
create index on registry_version (org_id, name, ordinal desc);
