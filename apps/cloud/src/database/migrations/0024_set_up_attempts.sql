-- Attempts to redeem the set-up code of a part, or one like it: a user sees why a device does not come online.
create table set_up_attempt (
  id bigint generated always as identity primary key,
  part_id uuid not null references part on delete cascade,
  org_id uuid not null references organization on delete cascade,
  time timestamptz(3) not null default now(),
  result text not null check (result in ('redeemed', 'repeated', 'other device', 'expired', 'replaced', 'similar')),
  address text not null,
  agent_version text not null
);
create index on set_up_attempt (part_id, id);
create index on set_up_attempt (org_id);

-- The code before the newest one.
alter table set_up_code add column replaced_hash bytea;
