-- Signed documents of the releases (The Update Framework), patches between releases, releases that were withdrawn.

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

-- Path among the signed targets; null: they do not list it.
alter table release add column target text;
alter table release add column revoked_on timestamptz(3);

create table release_patch (
  from_sha256 bytea not null,
  to_sha256 bytea not null,
  sha256 bytea not null,
  size_bytes bigint not null,
  primary key (from_sha256, to_sha256)
);
create index on release_patch (to_sha256);
create index on release_patch (sha256);
