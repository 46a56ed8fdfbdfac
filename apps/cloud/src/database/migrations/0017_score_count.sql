-- Held-out images behind the score of a job, so that a list can say how much the score is worth.
alter table training_job add column score_count bigint
  generated always as (case
    when jsonb_typeof(evaluation -> 'count') = 'number' and (evaluation -> 'count')::double precision between 0 and 4294967295
      then (evaluation -> 'count')::double precision::bigint end) stored;
