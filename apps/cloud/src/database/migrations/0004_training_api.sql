-- Training scripts, runners and what they offer, keys that end with an attempt, where a model comes from.

alter table training_job
  -- Of custom jobs: the script as asked for, its version resolved, its package; the environment it wants ('': any).
  add column registry_item_id text not null default '',
  add column registry_item_version text not null default '',
  add column script_sha256 text,
  -- What kind of model a script makes, as the registry says.
  add column model_type text not null default '',
  add column container_version text not null default '';

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

alter table registry_version
  add column dataset_id uuid,
  -- The training script that made it: <organization or namespace>:<name> and its version.
  add column script_id text,
  add column script_version text;
