-- Tags that a machine sent with a capture say where the image comes from; they are no labels. Null: not told apart yet, which the
-- server does in the background (store/capture-tags.ts).
alter table binary_data add column capture_tags text[];

-- Rows of before that may have such tags. Empty once they are told apart.
create index binary_data_untold on binary_data (org_id, id)
  where capture_tags is null and identity is not null and part_id is not null and component_name <> '' and tags <> '{}';
