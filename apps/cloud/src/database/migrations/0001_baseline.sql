-- The schema of version 0.1.0, by subject. Keys of what an organization owns start with org_id, or are joined to it. Times are UTC.
-- IDs are UUIDv4, made by the application.

-- The installation and its organizations -------------------------------------------------------------------------------------

create table installation (
  one boolean primary key default true check (one),
  id uuid not null,
  first_org_id uuid not null,
  created_on timestamptz(3) not null default now()
);

create table organization (
  id uuid primary key,
  name text not null,
  public_namespace text not null unique,
  created_on timestamptz(3) not null default now()
);

create table location (
  id text primary key,
  org_id uuid not null references organization on delete cascade,
  name text not null,
  parent_location_id text references location,
  created_on timestamptz(3) not null default now()
);
create index on location (org_id, name);

-- Users, sessions, API keys and their rights ---------------------------------------------------------------------------------

create table person (
  id uuid primary key,
  name text not null,
  created_on timestamptz(3) not null default now()
);

-- signed_in_on: when the user last signed in with a link that no session created, so that sessions cannot renew this time by
-- links of their own. Null in a link: the moment at which it is used.
-- by_key_id: the API key behind a link or a session, at whatever distance. Both end when it is rotated or deleted.
create table sign_in_link (
  token_hash bytea primary key,
  person_id uuid not null references person on delete cascade,
  created_on timestamptz(3) not null default now(),
  expires_on timestamptz(3) not null,
  used_on timestamptz(3),
  signed_in_on timestamptz(3),
  by_key_id uuid
);
create index on sign_in_link (by_key_id) where by_key_id is not null;

create table browser_session (
  token_hash bytea primary key,
  person_id uuid not null references person on delete cascade,
  created_on timestamptz(3) not null default now(),
  expires_on timestamptz(3) not null,
  signed_in_on timestamptz(3) not null,
  by_key_id uuid
);
create index on browser_session (by_key_id) where by_key_id is not null;

create table api_key (
  id uuid primary key,
  org_id uuid not null references organization on delete cascade,
  name text not null,
  key_hash bytea not null,
  created_on timestamptz(3) not null default now()
);
create index on api_key (org_id);

-- One right of one identity. Rights to the installation have no organization.
create table access_grant (
  id uuid primary key,
  org_id uuid references organization on delete cascade,
  identity_type text not null check (identity_type in ('person', 'api_key')),
  identity_id uuid not null,
  role text not null check (role in ('owner', 'operator', 'runner', 'metrics')),
  resource_type text not null check (resource_type in ('installation', 'organization', 'location', 'robot')),
  resource_id text not null,
  created_on timestamptz(3) not null default now(),
  unique (identity_id, role, resource_type, resource_id),
  check ((resource_type = 'installation') = (org_id is null)),
  constraint access_grant_metrics_check check (role <> 'metrics' or resource_type = 'installation')
);
create index on access_grant (org_id);

-- Machines and their parts ---------------------------------------------------------------------------------------------------

create table machine (
  id uuid primary key,
  org_id uuid not null references organization on delete cascade,
  location_id text not null references location,
  name text not null,
  -- See packages/contract/src/machine-tags.ts. In lower case and sorted.
  tags text[] not null default '{}' check (cardinality(tags) <= 32),
  created_on timestamptz(3) not null default now(),
  unique (location_id, name)
);
create index on machine (org_id, name);
create index machine_tags on machine using gin (tags);

create table part (
  id uuid primary key,
  org_id uuid not null references organization on delete cascade,
  machine_id uuid not null references machine on delete cascade,
  name text not null,
  is_main boolean not null,
  created_on timestamptz(3) not null default now(),
  last_updated timestamptz(3) not null default now(),
  -- Newest saved revision, 0: none yet.
  revision bigint not null default 0,
  -- Written in batches, so a few seconds old; the next contact corrects it after a crash (machines/presence.ts).
  last_seen timestamptz(3),
  host jsonb,
  report bytea,
  reported_on timestamptz(3),
  -- The run whose report is stored; null: its agent sends no run.
  report_run bytea,
  -- What the last report says of hardware and system, by the names of filters (contract/machine-filter.ts).
  facts jsonb,
  restart_requested_on timestamptz(3),
  -- How often the quarantine was cleared: what a machine gave up at a smaller count may be tried again.
  quarantine_clearance bigint not null default 0,
  quarantine_cleared_on timestamptz(3),
  -- How often an upgrade of the operating system was requested: the agent acts on a count that is larger than its last one.
  system_upgrades bigint not null default 0,
  system_upgrade_requested_on timestamptz(3),
  -- The newest request that the machine reports as done. A state of it that was put back must not do it again.
  system_upgrades_done bigint not null default 0,
  -- A user requested a move from another product's agent to platform-agent; null: nobody did, or it has happened.
  migration_requested_on timestamptz,
  -- When the agent reported that it was removed; a later contact makes it meaningless. Null: never.
  uninstalled_on timestamptz(3),
  -- Log lines with the identity of another line, samples with numbers that others of the machine have: two agents continued one
  -- state.
  repeated_lines bigint not null default 0,
  repeated_lines_on timestamptz(3),
  repeated_samples bigint not null default 0,
  repeated_samples_on timestamptz(3),
  unique (machine_id, name)
) with (fillfactor = 70);
create unique index on part (machine_id) where is_main;
create index on part (org_id);

-- Secrets of a part: sealed for its owners to read again, hashed for checking.
create table part_secret (
  id uuid primary key,
  org_id uuid not null references organization on delete cascade,
  part_id uuid not null references part on delete cascade,
  sealed bytea not null,
  secret_hash bytea not null,
  created_on timestamptz(3) not null default now()
);
create index on part_secret (part_id);

-- The newest order of each kind that an operator gave to a part: it is carried out once, and followed until it is done.
create table part_order (
  part_id uuid not null references part on delete cascade,
  org_id uuid not null references organization on delete cascade,
  kind text not null check (kind in ('restart agent', 'reboot', 'restart server')),
  id uuid not null unique,
  requested_by text not null,
  requested_on timestamptz(3) not null default now(),
  state text not null default 'waiting' check (state in ('waiting', 'begun', 'done', 'failed')),
  since timestamptz(3) not null default now(),
  reason text not null default '',
  primary key (part_id, kind)
);
create index on part_order (org_id);

-- The last runs of the agent of each part. Two that check in by turns are two computers with the same credentials.
create table part_run (
  part_id uuid not null references part on delete cascade,
  run_id bytea not null check (length(run_id) = 16),
  first_seen timestamptz(3) not null,
  -- When its last check was sent. Written now and then, and once a minute while runs alternate.
  last_sent timestamptz(3) not null,
  -- Since when it is proven that it went on after a later run had begun; null: it is not.
  returned_on timestamptz(3),
  hostname text not null default '',
  address text not null default '',
  link_addresses text[] not null default '{}',
  primary key (part_id, run_id)
);
create index part_run_returned on part_run (part_id) where returned_on is not null;

-- Runs that are to become machines of their own: each gets a set-up code for the new part.
create table machine_split (
  part_id uuid primary key references part on delete cascade,
  run_id bytea not null check (length(run_id) = 16),
  new_part_id uuid not null unique references part on delete cascade,
  -- The set-up code is derived from it, so that every server gives the same one.
  code_seed uuid not null,
  created_on timestamptz(3) not null default now()
);

-- The JSON Schemas that machine servers report about their attributes, once for each content. Machines name theirs in their report.
-- Few for each organization: one for each version of a machine server (machines/store/server-schemas.ts bounds them).
create table server_schemas (
  org_id uuid not null references organization on delete cascade,
  sha256 bytea not null,
  -- Null: they were refused.
  schemas_json text,
  -- Why; a clause without a period.
  refused text,
  asked_on timestamptz(3) not null default now(),
  primary key (org_id, sha256),
  check ((schemas_json is null) <> (refused is null))
);

-- Named queries of the list of machines, with order and columns, which all members of the organization share.
create table machine_view (
  org_id uuid not null references organization on delete cascade,
  name text not null,
  query text not null,
  sort text not null,
  columns text not null,
  saved_by text not null,
  saved_on timestamptz(3) not null default now(),
  primary key (org_id, name)
);

-- One change of many machines. Its targets are fixed in bulk_machine when it starts; each of them has a state of its own.
create table bulk_operation (
  id uuid primary key,
  org_id uuid not null references organization on delete cascade,
  -- Counts within the organization.
  number integer not null,
  -- BulkChange as JSON.
  change jsonb not null,
  query text not null,
  started_by text not null,
  -- ID of the caller that started it.
  starter_id text not null,
  started_on timestamptz(3) not null default now(),
  stopped_on timestamptz(3),
  stopped_by text not null default '',
  unique (org_id, number)
);

create table bulk_machine (
  operation_id uuid not null references bulk_operation on delete cascade,
  place integer not null,
  -- The machine may be deleted, also by this operation.
  machine_id uuid not null,
  name text not null,
  state text not null check (state in ('waiting', 'done', 'unchanged', 'refused', 'failed')),
  code text not null default '',
  reason text not null default '',
  changed_on timestamptz(3),
  -- By a call that changes it now; an old claim is of a server that ended.
  claimed_on timestamptz(3),
  primary key (operation_id, place)
);
create index bulk_machine_waiting on bulk_machine (operation_id, place) where state = 'waiting';
create index bulk_machine_of on bulk_machine (machine_id, operation_id);

-- Setting up machines --------------------------------------------------------------------------------------------------------

-- The newest set-up code of a part: a device redeems it for the credentials of the part.
create table set_up_code (
  part_id uuid primary key references part on delete cascade,
  org_id uuid not null references organization on delete cascade,
  -- Keyed with a secret of the installation: the 36 bits of a code alone could be guessed from the database.
  code_hash bytea not null unique,
  -- The code before the newest one.
  replaced_hash bytea,
  -- Who made it ({"kind", "id", "name"}): the fragment that a device names is used with the rights that this user or key has then.
  -- Null: the server itself.
  made_by jsonb,
  created_on timestamptz(3) not null default now(),
  expires_on timestamptz(3) not null,
  -- The device that redeemed it, which may do so again until it expires.
  device_hash bytea,
  redeemed_on timestamptz(3),
  check ((device_hash is null) = (redeemed_on is null))
);
create index on set_up_code (org_id);

-- Attempts to redeem the set-up code of a part, or one like it: a user sees why a device does not come online.
create table set_up_attempt (
  id bigint generated always as identity primary key,
  part_id uuid not null references part on delete cascade,
  org_id uuid not null references organization on delete cascade,
  time timestamptz(3) not null default now(),
  result text not null check (result in ('redeemed', 'repeated', 'other device', 'expired', 'replaced', 'similar')),
  address text not null,
  agent_version text not null,
  -- The fragment that the device named, and why its machine did not start with it; empty: it did.
  fragment_id text not null default '',
  fragment_problem text not null default ''
);
create index on set_up_attempt (part_id, id);
create index on set_up_attempt (org_id);

-- The newest one-time key of a part: one computer fetches the credentials of the part with it.
create table install_key (
  part_id uuid primary key references part on delete cascade,
  org_id uuid not null references organization on delete cascade,
  id uuid not null unique,
  key_hash bytea not null,
  -- As in set_up_code.
  made_by jsonb,
  created_on timestamptz(3) not null default now(),
  expires_on timestamptz(3) not null,
  -- The installer that used it, which may do so again until it has reported that it is done.
  installer_hash bytea,
  used_on timestamptz(3),
  -- The first report of the agent after that.
  reported_on timestamptz(3),
  check ((installer_hash is null) = (used_on is null))
);
create index on install_key (org_id);

-- How far the installation by this key came: the newest step of each kind.
create table install_step (
  part_id uuid not null references install_key on delete cascade,
  org_id uuid not null references organization on delete cascade,
  kind text not null check (kind in ('started', 'downloaded', 'verified', 'installed', 'failed', 'refused')),
  time timestamptz(3) not null default now(),
  detail text not null,
  address text not null,
  primary key (part_id, kind)
);
create index on install_step (org_id);

-- Configurations -------------------------------------------------------------------------------------------------------------

-- What was desired of a part, when and by whom. Rows never change; the text is what was saved, byte for byte, and what is hashed.
create table config_revision (
  part_id uuid not null references part on delete cascade,
  revision bigint not null check (revision > 0),
  org_id uuid not null references organization on delete cascade,
  text text not null,
  config jsonb not null,
  sha256 bytea not null,
  saved_by text not null,
  saved_on timestamptz(3) not null default now(),
  -- Why it was saved, in the words of the user.
  comment text not null default '',
  -- [{id, name, revision, isPinned}] of the fragments that went into `config`; null: none.
  fragments jsonb,
  primary key (part_id, revision)
);

-- Shared parts of configurations. Rows of revisions never change; the text is what was saved, byte for byte.
create table fragment (
  id uuid primary key,
  org_id uuid not null references organization on delete cascade,
  name text not null,
  revision bigint not null check (revision > 0),
  created_on timestamptz(3) not null default now(),
  last_updated timestamptz(3) not null default now(),
  unique (org_id, name)
);

create table fragment_revision (
  fragment_id uuid not null references fragment on delete cascade,
  revision bigint not null check (revision > 0),
  org_id uuid not null references organization on delete cascade,
  text text not null,
  config jsonb not null,
  sha256 bytea not null,
  saved_by text not null,
  saved_on timestamptz(3) not null default now(),
  comment text not null default '',
  primary key (fragment_id, revision)
);

-- What the newest configuration of a part uses. A used fragment cannot be deleted.
create table fragment_use (
  part_id uuid not null references part on delete cascade,
  -- Its place in the list of the configuration.
  place integer not null,
  -- Checked at the end of the statement: an organization goes with its parts and fragments.
  fragment_id uuid not null references fragment on delete no action,
  org_id uuid not null references organization on delete cascade,
  -- Null: the newest revision.
  pinned bigint,
  primary key (part_id, place)
);
create index on fragment_use (fragment_id);

-- Log lines and samples, by day ----------------------------------------------------------------------------------------------

-- Tables that grow with time have one partition for each day, which database/day-partitions.ts creates and drops. They refer to
-- no other table: a check of the part for each row costs as much as storing it, so who inserts checks the parts of a whole batch,
-- and a trigger deletes the rows of a deleted part.

create sequence part_log_line_id;
select setval('part_log_line_id', 1);

create table part_log (
  id bigint not null default nextval('part_log_line_id'),
  org_id uuid not null,
  part_id uuid not null,
  -- Of the line's own time, so that a repeated line comes to the same day; of its arrival where that time cannot be right.
  day date not null,
  -- Both null: the sender numbers nothing, so a repeated batch is stored again.
  boot_id text,
  sequence bigint,
  time timestamptz(6) not null,
  level text not null,
  host text not null,
  logger_name text not null,
  message text not null,
  -- caller, stack and fields of the entry, as sent.
  rest jsonb,
  primary key (part_id, id, day),
  constraint part_log_once unique (part_id, boot_id, sequence, day)
) partition by range (day);
create index part_log_arrival on part_log using brin (id) with (autosummarize = on);
-- Lines of a machine by time: any page of them in either direction, and counts by level, without reading the others.
create index part_log_by_time on part_log (part_id, time, id) include (level);

-- Bytes of the lines of a part, by day: what sweeps go by.
create table part_log_size (
  part_id uuid not null,
  day date not null,
  bytes bigint not null,
  primary key (part_id, day)
);

-- Lines up to this ID are counted.
create table part_log_measured (
  one boolean primary key default true check (one),
  up_to bigint not null
);
insert into part_log_measured (up_to) values (1);

-- What machines use: batches of samples as they sent them, one sample a minute each.
create table part_sample (
  part_id uuid not null,
  -- On which it arrived.
  day date not null,
  -- The first 8 bytes of the sha256 of the spool's ID, and which samples the batch has: those of one run of the agent follow one
  -- another.
  spool bigint not null,
  first_sequence bigint not null,
  last_sequence bigint not null,
  -- Times of the samples, as the machine knew them.
  first_time timestamptz(0) not null,
  last_time timestamptz(0) not null,
  -- A message platform.fleet.v1.SampleBatch.
  batch bytea not null
) partition by range (day);
create index part_sample_by_time on part_sample (part_id, last_time);
create index part_sample_by_sequence on part_sample (part_id, spool, last_sequence);

-- The last sample that a part sent: each is stored once. And how many it sent on a day of the server's clock.
create table part_sample_state (
  part_id uuid primary key references part on delete cascade,
  spool_id text not null default '',
  last_sequence bigint not null default 0,
  day date not null default current_date,
  day_count integer not null default 0
);

create function delete_days_of_part() returns trigger language plpgsql as $$
begin
  delete from part_log where part_id = old.id;
  delete from part_log_size where part_id = old.id;
  delete from part_sample where part_id = old.id;
  return null;
end $$;
create trigger part_deleted after delete on part for each row execute function delete_days_of_part();

-- How many machines an organization has, and how many of them were online.
create table fleet_sample (
  org_id uuid not null references organization on delete cascade,
  time timestamptz(3) not null,
  machines integer not null,
  online integer not null,
  primary key (org_id, time)
);

-- Conditions -----------------------------------------------------------------------------------------------------------------

-- What needs attention, since when and until when. The server's own measurement writes it (conditions/watch.ts).
create table condition_record (
  id uuid primary key,
  -- Null: of the installation.
  org_id uuid references organization on delete cascade,
  subject text not null check (subject in ('machine', 'job', 'runner', 'server')),
  -- Empty: the server.
  subject_id text not null,
  subject_name text not null,
  -- Only of a machine.
  machine_id uuid references machine on delete cascade,
  code text not null,
  -- Tells several conditions of one code at one subject apart.
  place text not null,
  -- As in platform.conditions.v1.ConditionSeverity.
  severity smallint not null,
  message text not null,
  remedy text not null,
  began_on timestamptz(3) not null,
  ended_on timestamptz(3),
  constraint machine_of_subject check ((machine_id is null) = (subject <> 'machine'))
);
create unique index condition_open on condition_record (org_id, subject, subject_id, code, place)
  nulls not distinct where ended_on is null;
create index condition_ended on condition_record (org_id, ended_on desc) where ended_on is not null;
create index condition_machine on condition_record (machine_id) where machine_id is not null;
create index condition_began on condition_record (org_id, began_on);
-- The worst open conditions of a kind, without sorting all that are open.
create index condition_group on condition_record (org_id, code, subject, severity desc, began_on desc, id)
  where ended_on is null;

-- Conditions that are listed apart until a time.
create table condition_mute (
  id uuid primary key,
  org_id uuid references organization on delete cascade,
  subject text not null,
  -- Null: all conditions of the code.
  subject_id text,
  machine_id uuid references machine on delete cascade,
  code text not null,
  place text not null,
  reason text not null,
  muted_by text not null,
  muted_on timestamptz(3) not null,
  until timestamptz(3) not null
);
create unique index condition_mute_of on condition_mute (org_id, code, subject, subject_id, place) nulls not distinct;
create index condition_mute_until on condition_mute (until);

-- Releases -------------------------------------------------------------------------------------------------------------------

create table release (
  name text not null,
  version text not null,
  platform text not null,
  sha256 bytea not null,
  size_bytes bigint not null,
  -- Path among the signed targets; null: they do not list it.
  target text,
  published_on timestamptz(3) not null default now(),
  revoked_on timestamptz(3),
  primary key (name, version, platform)
);

create table release_channel (
  name text not null,
  channel text not null,
  version text not null,
  primary key (name, channel)
);

create table release_patch (
  from_sha256 bytea not null,
  to_sha256 bytea not null,
  sha256 bytea not null,
  size_bytes bigint not null,
  primary key (from_sha256, to_sha256)
);
create index on release_patch (to_sha256);
create index on release_patch (sha256);

-- What the programs of releases contain (SBOM) and under which licenses. The signed targets list each row.
create table release_attachment (
  name text not null,
  version text not null,
  platform text not null,
  kind text not null check (kind in ('sbom', 'licenses')),
  sha256 bytea not null,
  size_bytes bigint not null,
  primary key (name, version, platform, kind),
  foreign key (name, version, platform) references release on delete cascade
);
create index on release_attachment (sha256);

-- Signed documents of the releases (The Update Framework).
create table release_document (
  role text not null check (role in ('root', 'targets', 'snapshot', 'timestamp')),
  version integer not null,
  bytes bytea not null,
  made_on timestamptz(3) not null default now(),
  primary key (role, version)
);

-- One row: of SHA256SUMS as made of the newest root and targets.
create table installer_signature (
  one boolean primary key default true check (one),
  signature bytea not null
);

-- Stored files ---------------------------------------------------------------------------------------------------------------

-- Which organization brought, and so may read, which stored file. The bytes are in the blob store under their sha256. A row that
-- names a file is written after the file is on the disk: a file without a row is harmless.
create table blob (
  org_id uuid not null references organization on delete cascade,
  sha256 text not null,
  size_bytes bigint not null,
  created_on timestamptz(3) not null default now(),
  -- When the organization sent the bytes. It may read them for a day, until something names them; null: what named them was deleted.
  uploaded_on timestamptz(3) default now(),
  primary key (org_id, sha256)
);

-- Files that a sweep found without a name. They are removed when a later sweep finds them so again.
create table unnamed_blob (
  sha256 text primary key,
  since timestamptz(3) not null
);

-- Captured data --------------------------------------------------------------------------------------------------------------

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
  -- Tags that a machine sent with a capture say where the image comes from; they are no labels.
  capture_tags text[] not null default '{}',
  time_requested timestamptz(6) not null,
  time_received timestamptz(6) not null,
  -- What a machine uploads again after a lost answer is the same datum: hash of all that identifies a capture. Null: always new.
  identity bytea,
  -- What the bytes are, as their decoder found; the server measures each file once, in the background or when it arrives
  -- (images/measurements.ts). Null: not measured yet. What is no image is kept and marked; no training uses it.
  image_kind text check (image_kind in ('image', 'broken', 'too_large', 'other')),
  image_type text,
  image_width integer,
  image_height integer,
  image_used_bits smallint,
  image_problem text,
  primary key (org_id, id),
  unique (org_id, identity)
);
create index on binary_data (org_id, time_requested, id);
create index on binary_data using gin (tags);
create index binary_data_sha256 on binary_data (sha256);
-- Empty once all files are measured.
create index binary_data_unmeasured on binary_data (org_id, id) where image_kind is null;

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
-- Page by page, whatever machine they are of.
create index on tabular_data (org_id, time_requested, id);

-- What resources of a part captured in a time range. The machine may be gone: what it captured stays.
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

-- Datasets -------------------------------------------------------------------------------------------------------------------

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

-- What a job trains on: a manifest that never changes. It outlives its dataset and its images, hence no reference to them.
create table dataset_version (
  org_id uuid not null references organization on delete cascade,
  id uuid not null,
  dataset_id uuid not null,
  manifest_sha256 text not null,
  images bigint not null,
  counts jsonb not null,
  created_on timestamptz(3) not null,
  primary key (org_id, id),
  unique (org_id, dataset_id, manifest_sha256)
);
create index dataset_version_manifest on dataset_version (manifest_sha256);

-- What a model suggested for the images of a dataset, by the newest job that predicted an image. Suggestions are not labels: no
-- training reads this table.
create table prediction (
  org_id uuid not null,
  dataset_id uuid not null,
  binary_id uuid not null,
  job_id uuid not null,
  model_name text not null,
  model_version text not null,
  model_type text not null,
  -- [{id, label, score, box: [x_min, y_min, x_max, y_max]}], the highest score first; without box: a label of the image.
  suggestions jsonb not null,
  -- What the model gives each of its labels: {label: score}. For detectors the best box of each label.
  scores jsonb not null,
  rejected uuid[] not null default '{}',
  -- Images of one job with the same number are near copies of each other.
  copy_group integer,
  made_on timestamptz(3) not null,
  primary key (org_id, dataset_id, binary_id),
  foreign key (org_id, dataset_id) references dataset on delete cascade,
  foreign key (org_id, binary_id) references binary_data on delete cascade
);
create index on prediction (org_id, binary_id);

-- Training -------------------------------------------------------------------------------------------------------------------

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
  -- The order of submission. Times are for people: a clock that is set back must not let a job jump the queue.
  ordinal bigint generated always as identity,
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
  -- Of custom jobs: the script as asked for, its version resolved, its package; the environment it needs ('': any).
  registry_item_id text not null default '',
  registry_item_version text not null default '',
  script_sha256 text,
  -- What kind of model a script makes, as the registry says.
  model_type text not null default '',
  container_version text not null default '',
  -- Its life, moved on by rules/job-life.ts alone.
  state text not null check (state in ('pending', 'in_progress', 'completed', 'failed', 'canceling', 'canceled')),
  attempt integer not null,
  losses integer not null,
  runner_id text,
  reported boolean not null,
  lease_until timestamptz(3),
  -- After trouble of a runner the job waits a little, so that three tries are not over within a second.
  not_before timestamptz(3),
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
  -- GPUs that the runner must have.
  gpus integer not null generated always as (coalesce((limits ->> 'gpus')::integer, 0)) stored,
  -- What clients see: a job that an engine has taken but not begun is pending to them.
  status text not null
    generated always as (case when state = 'in_progress' and phase = 'queued' then 'pending' else state end) stored,
  -- The figure that says how well it went, and the held-out images behind it, so that a list need not read whole evaluations.
  score_name text generated always as (case
    when jsonb_typeof(evaluation -> 'accuracy') = 'number' then 'accuracy'
    when jsonb_typeof(evaluation -> 'micro_f1') = 'number' then 'micro_f1'
    when jsonb_typeof(evaluation -> 'map50') = 'number' then 'map50' end) stored,
  score_value double precision generated always as (case
    when jsonb_typeof(evaluation -> 'accuracy') = 'number' then (evaluation -> 'accuracy')::double precision
    when jsonb_typeof(evaluation -> 'micro_f1') = 'number' then (evaluation -> 'micro_f1')::double precision
    when jsonb_typeof(evaluation -> 'map50') = 'number' then (evaluation -> 'map50')::double precision end) stored,
  score_count bigint generated always as (case
    when jsonb_typeof(evaluation -> 'count') = 'number' and (evaluation -> 'count')::double precision between 0 and 4294967295
      then (evaluation -> 'count')::double precision::bigint end) stored,
  primary key (org_id, id),
  unique (id),
  check ((state in ('in_progress', 'canceling')) = (lease_until is not null))
-- Places in the queue are counted without looking at rows, where a vacuum has been since.
) with (fillfactor = 70, autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05);
-- Lists, newest first, all or of one status.
create unique index training_job_order on training_job (org_id, ordinal);
create index training_job_status on training_job (org_id, status, ordinal);
-- Places in the queue.
create index training_job_queue on training_job (org_id, ordinal) where state = 'pending';
-- The oldest job that a runner can take, however many wait that it cannot. `ordinal + 0` has no other index, so that the planner
-- never walks along one of those past all the jobs that do not fit, which it does where it takes them for few.
create index training_job_wanted on training_job (org_id, kind, container_version, gpus, (ordinal + 0)) where state = 'pending';
-- What runners hold. Not by lease_until, which every heartbeat changes: no index has to follow those.
create index training_job_held on training_job (runner_id) where state in ('in_progress', 'canceling');
-- Logs are removed some time after the end.
create index training_job_ended on training_job (ended_on) where ended_on is not null;
create index training_job_script on training_job (script_sha256) where script_sha256 is not null and ended_on is null;

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
create index training_event_at on training_event (at);

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

-- The key that a job's script gets. It is good while that attempt is leased, and for reading alone.
create table attempt_key (
  org_id uuid not null,
  job_id uuid not null,
  attempt integer not null,
  id uuid not null unique,
  key_hash bytea not null,
  primary key (org_id, job_id),
  foreign key (org_id, job_id) references training_job on delete cascade
);

-- A runner as it offered itself last, once for each organization whose queue it serves.
create table runner (
  org_id uuid not null references organization on delete cascade,
  id text not null,
  host text not null,
  version text not null,
  executor text not null,
  kinds text[] not null,
  gpus integer not null,
  -- {key, uri, framework, description, eol_ms}
  containers jsonb not null,
  no_scripts_because text not null,
  last_seen timestamptz(3) not null,
  primary key (org_id, id)
);
create index on runner (org_id, last_seen);

-- The registry ---------------------------------------------------------------------------------------------------------------

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
  -- Where a trained model comes from: the job may be deleted, the frozen dataset stays. And the training script that made it:
  -- <organization or namespace>:<name> and its version.
  job_id uuid,
  dataset_id uuid,
  dataset_version_id uuid,
  script_id text,
  script_version text,
  evaluation jsonb,
  created_on timestamptz(3) not null,
  primary key (org_id, name, version),
  foreign key (org_id, name) references registry_item
);
create index on registry_version (org_id, name, ordinal desc);
create index registry_version_package on registry_version (package_sha256);

-- Of the server itself -------------------------------------------------------------------------------------------------------

create table audit (
  id bigint generated always as identity primary key,
  org_id uuid,
  at timestamptz(3) not null default now(),
  actor text not null,
  action text not null,
  subject text not null,
  details jsonb
);
create index on audit (org_id, id);
create index audit_at on audit (at);
-- What was done to one machine, without a look at the entries of all.
create index audit_of_subject on audit (subject, at);

-- The time by which sweeps remove things: it follows the wall clock, but not its jumps (retention/rules/retention-time.ts).
create table retention_time (
  one boolean primary key default true check (one),
  at timestamptz(3) not null,
  -- The latest one. Unlike `at`, it does not follow a clock that was set back.
  latest timestamptz
);

-- What caches must forget. Notified at once; read again every few seconds, because a notification can be missed.
create table change (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null default now(),
  kind text not null,
  key text not null
);

create function notify_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('change', new.id || ' ' || new.kind || ' ' || new.key);
  return null;
end $$;
create trigger change_notified after insert on change for each row execute function notify_change();
