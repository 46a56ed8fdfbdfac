-- Log lines by day: a day that is too old is dropped as a whole. Lines of before stay where they are and are moved by the server.

alter table part_log rename to part_log_undated;
create sequence part_log_line_id;
select setval('part_log_line_id', nextval(pg_get_serial_sequence('part_log_undated', 'id')));
alter table part_log_undated alter column id drop identity;

create table part_log (
  id bigint not null default nextval('part_log_line_id'),
  org_id uuid not null,
  part_id uuid not null,
  -- Of the line's own time, so that a repeated line comes to the same day; of its arrival where that time cannot be right.
  day date not null,
  boot_id text,
  sequence bigint,
  time timestamptz(6) not null,
  level text not null,
  host text not null,
  logger_name text not null,
  message text not null,
  rest jsonb,
  primary key (part_id, id, day),
  constraint part_log_once unique (part_id, boot_id, sequence, day)
) partition by range (day);
create index part_log_arrival on part_log using brin (id) with (autosummarize = on);

create view part_log_line as
  select id, org_id, part_id, boot_id, sequence, time, level, host, logger_name, message, rest from part_log
  union all
  select id, org_id, part_id, boot_id, sequence, time, level, host, logger_name, message, rest from part_log_undated;

-- Bytes of the lines of a part, by day: what sweeps go by.
create table part_log_size (
  part_id uuid not null,
  day date not null,
  bytes bigint not null,
  primary key (part_id, day)
);
-- Lines up to this id are counted.
create table part_log_measured (
  one boolean primary key default true check (one),
  up_to bigint not null
);
insert into part_log_measured (up_to) select last_value from part_log_line_id;

create or replace function delete_part_logs() returns trigger language plpgsql as $$
begin
  delete from part_log where part_id = old.id;
  delete from part_log_undated where part_id = old.id;
  delete from part_log_size where part_id = old.id;
  return null;
end $$;

-- What is old, without a look at the rest.
create index audit_at on audit (at);
create index training_event_at on training_event (at);
