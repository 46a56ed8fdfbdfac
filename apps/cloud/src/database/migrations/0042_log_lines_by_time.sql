-- Lines of a machine by time: any page of them in either direction, and counts by level, without reading the others.
create index part_log_by_time on part_log (part_id, time, id) include (level);
