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
