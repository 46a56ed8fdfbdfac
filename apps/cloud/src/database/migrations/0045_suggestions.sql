-- What a model suggested for the images of a dataset, by the newest job that predicted an image. Suggestions are not labels: no
-- training reads this table.
create table prediction (
  org_id uuid not null,
  dataset_id uuid not null,
  binary_id uuid not null,
  job_id uuid not null,
  model_name text not null,
  model_version text not null,
  model_type text not null,
  -- [{id, label, score, box: [x_min, y_min, x_max, y_max]}], the highest score first; without box: a label of the image.
  suggestions jsonb not null,
  -- What the model gives each of its labels: {label: score}. For detectors the best box of each label.
  scores jsonb not null,
  rejected uuid[] not null default '{}',
  -- Images of one job with the same number are near copies of each other.
  copy_group integer,
  made_on timestamptz(3) not null,
  primary key (org_id, dataset_id, binary_id),
  foreign key (org_id, dataset_id) references dataset on delete cascade,
  foreign key (org_id, binary_id) references binary_data on delete cascade
);
create index on prediction (org_id, binary_id);
