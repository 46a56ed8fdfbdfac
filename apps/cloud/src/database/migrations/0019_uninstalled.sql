-- When the agent of a machine reported that it was removed; a later contact makes it meaningless. Null: never.
alter table part add column uninstalled_on timestamptz(3);
