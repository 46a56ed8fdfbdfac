-- Lines come by the ten thousand a second. A check of the part for each of them cost as much as storing it: who inserts now checks
-- and holds the parts of a whole batch at once, and the lines of a part that is deleted go by a trigger.
alter table part_log drop constraint part_log_part_id_fkey;

create function delete_part_logs() returns trigger language plpgsql as $$
begin
  delete from part_log where part_id = old.id;
  return null;
end $$;
create trigger part_logs_deleted after delete on part for each row execute function delete_part_logs();

-- One index instead of two: nothing looks for an id without its part.
alter table part_log drop constraint part_log_pkey;
drop index part_log_part_id_id_idx;
alter table part_log add primary key (part_id, id);
