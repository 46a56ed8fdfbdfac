-- Organizations, who may do what, machines with their wanted state and their logs, releases, stored files.
-- Every key of an organization's things starts with, or is joined to, org_id. Times are UTC. Ids are UUIDv4, made by the application.

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

create table person (
  id uuid primary key,
  name text not null,
  created_on timestamptz(3) not null default now()
);

create table sign_in_link (
  token_hash bytea primary key,
  person_id uuid not null references person on delete cascade,
  created_on timestamptz(3) not null default now(),
  expires_on timestamptz(3) not null,
  used_on timestamptz(3)
);

create table browser_session (
  token_hash bytea primary key,
  person_id uuid not null references person on delete cascade,
  created_on timestamptz(3) not null default now(),
  expires_on timestamptz(3) not null
);

create table api_key (
  id uuid primary key,
  org_id uuid not null references organization on delete cascade,
  name text not null,
  key_hash bytea not null,
  created_on timestamptz(3) not null default now()
);
create index on api_key (org_id);

-- One right of one identity. Installation rights carry no organization.
create table access_grant (
  id uuid primary key,
  org_id uuid references organization on delete cascade,
  identity_type text not null check (identity_type in ('person', 'api_key')),
  identity_id uuid not null,
  role text not null check (role in ('owner', 'operator', 'runner')),
  resource_type text not null check (resource_type in ('installation', 'organization', 'location', 'robot')),
  resource_id text not null,
  created_on timestamptz(3) not null default now(),
  unique (identity_id, role, resource_type, resource_id),
  check ((resource_type = 'installation') = (org_id is null))
);
create index on access_grant (org_id);

create table machine (
  id uuid primary key,
  org_id uuid not null references organization on delete cascade,
  location_id text not null references location,
  name text not null,
  created_on timestamptz(3) not null default now(),
  unique (location_id, name)
);
create index on machine (org_id, name);

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
  -- Soft: written in batches, may be a minute old after a crash; the next check makes it again.
  last_seen timestamptz(3),
  host jsonb,
  report bytea,
  reported_on timestamptz(3),
  restart_requested_on timestamptz(3),
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

-- What was wanted of a part, when and by whom; rows never change. The text is what was saved, byte for byte, and what is hashed.
create table config_revision (
  part_id uuid not null references part on delete cascade,
  revision bigint not null check (revision > 0),
  org_id uuid not null references organization on delete cascade,
  text text not null,
  config jsonb not null,
  sha256 bytea not null,
  saved_by text not null,
  saved_on timestamptz(3) not null default now(),
  primary key (part_id, revision)
);

create table part_log (
  id bigint generated always as identity primary key,
  org_id uuid not null,
  part_id uuid not null references part on delete cascade,
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
  unique (part_id, boot_id, sequence)
);
create index on part_log (part_id, id);

create table release (
  name text not null,
  version text not null,
  platform text not null,
  sha256 bytea not null,
  size_bytes bigint not null,
  published_on timestamptz(3) not null default now(),
  primary key (name, version, platform)
);

create table release_channel (
  name text not null,
  channel text not null,
  version text not null,
  primary key (name, channel)
);

-- Which organization brought, and so may read, which stored file. The bytes lie in the blob store under their sha256.
create table blob (
  org_id uuid not null references organization on delete cascade,
  sha256 text not null,
  size_bytes bigint not null,
  created_on timestamptz(3) not null default now(),
  primary key (org_id, sha256)
);

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
