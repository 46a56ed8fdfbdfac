-- Readings of an organization page by page, whatever machine they are of.
create index on tabular_data (org_id, time_requested, id);
