-- What the last report of a part says of its hardware and system, by the names of filters (contract/machine-filter.ts).
alter table part add column facts jsonb;
