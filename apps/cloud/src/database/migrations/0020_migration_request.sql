-- A user asked for a move from another product's agent to platform-agent; null: nobody did, or it has happened.
alter table part add migration_requested_on timestamptz;
