-- What a file's bytes are, as its decoder found; the server measures each file once, in the background or when it arrives
-- (images/measurements.ts). Null: not measured yet. Not images are kept and marked; no training uses them.
alter table binary_data
  add column image_kind text check (image_kind in ('image', 'broken', 'too_large', 'other')),
  add column image_type text,
  add column image_width integer,
  add column image_height integer,
  add column image_used_bits smallint,
  add column image_problem text;

-- Empty once all files are measured.
create index binary_data_unmeasured on binary_data (org_id, id) where image_kind is null;
