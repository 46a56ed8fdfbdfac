-- A stored file is served through what names it, and removed when nothing has named it for a while.

-- When the organization sent the bytes. It may read them for a day, until something names them; null: what named them was deleted.
alter table blob add column uploaded_on timestamptz(3);
alter table blob alter column uploaded_on set default now();
update blob set uploaded_on = created_on where created_on > now() - interval '1 day';

-- Who names a file.
create index binary_data_sha256 on binary_data (sha256);
create index dataset_version_manifest on dataset_version (manifest_sha256);
create index registry_version_package on registry_version (package_sha256);
create index training_job_script on training_job (script_sha256) where script_sha256 is not null and ended_on is null;

-- Files that a sweep found without a name. They are removed when a later sweep finds them so again.
create table unnamed_blob (
  sha256 text primary key,
  since timestamptz(3) not null
);

-- The time by which sweeps remove things: it follows the wall clock, but not its jumps (rules/retention-time.ts).
create table retention_time (
  one boolean primary key default true check (one),
  at timestamptz(3) not null
);
insert into retention_time (at) select max(at) from audit having max(at) is not null;
