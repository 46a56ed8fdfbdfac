-- When the server listened to machines: between two of these times it did not run, or had no database, so it cannot say
-- that a machine was away. A running server extends the last one (conditions/watch.ts).
create table watched_time (
  id uuid primary key,
  began_on timestamptz(3) not null,
  ended_on timestamptz(3) not null,
  constraint watched_forwards check (began_on <= ended_on)
);
create index watched_time_ended on watched_time (ended_on);
