-- How often an upgrade of the operating system of a part was requested: the agent acts on a count that is larger than its last one.
alter table part
  add column system_upgrades bigint not null default 0,
  add column system_upgrade_requested_on timestamptz(3);
