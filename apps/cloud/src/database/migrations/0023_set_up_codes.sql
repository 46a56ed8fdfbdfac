-- The newest set-up code of a machine part: a device redeems it for the credentials of the part.
create table set_up_code (
  part_id uuid primary key references part on delete cascade,
  org_id uuid not null references organization on delete cascade,
  -- Keyed with a secret of the installation: 36 bits of a code alone could be guessed from the database.
  code_hash bytea not null unique,
  created_on timestamptz(3) not null default now(),
  expires_on timestamptz(3) not null,
  -- The device that redeemed it, which may do so again until it expires.
  device_hash bytea,
  redeemed_on timestamptz(3),
  check ((device_hash is null) = (redeemed_on is null))
);
create index on set_up_code (org_id);
