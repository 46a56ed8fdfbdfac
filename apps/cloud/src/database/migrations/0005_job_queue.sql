-- The queue at scale: an order of its own, what a runner must have, what lists show, each by an index.

-- The order of submission. Times are for people: a clock that is set back must not let a job jump the queue.
alter table training_job add column ordinal bigint;
update training_job j set ordinal = o.place
  from (select org_id, id, row_number() over (order by created_on, id) as place from training_job) o
 where o.org_id = j.org_id and o.id = j.id;
alter table training_job alter column ordinal set not null;
alter table training_job alter column ordinal add generated always as identity;
select setval(pg_get_serial_sequence('training_job', 'ordinal'), coalesce(max(ordinal), 0) + 1, false) from training_job;

-- GPUs that the runner must have.
alter table training_job add column gpus integer not null
  generated always as (coalesce((limits ->> 'gpus')::integer, 0)) stored;
-- What clients see: a job that an engine has taken but not begun is pending to them.
alter table training_job add column status text not null
  generated always as (case when state = 'in_progress' and phase = 'queued' then 'pending' else state end) stored;
-- The figure that says how well it went, so that a list need not read whole evaluations.
alter table training_job add column score_name text
  generated always as (case
    when jsonb_typeof(evaluation -> 'accuracy') = 'number' then 'accuracy'
    when jsonb_typeof(evaluation -> 'micro_f1') = 'number' then 'micro_f1'
    when jsonb_typeof(evaluation -> 'map50') = 'number' then 'map50' end) stored;
alter table training_job add column score_value double precision
  generated always as (case
    when jsonb_typeof(evaluation -> 'accuracy') = 'number' then (evaluation -> 'accuracy')::double precision
    when jsonb_typeof(evaluation -> 'micro_f1') = 'number' then (evaluation -> 'micro_f1')::double precision
    when jsonb_typeof(evaluation -> 'map50') = 'number' then (evaluation -> 'map50')::double precision end) stored;

drop index training_job_org_id_created_on_id_idx;
drop index training_job_org_id_created_on_id_idx1;
drop index training_job_lease_until_idx;
-- Lists, newest first, all or of one status.
create unique index training_job_order on training_job (org_id, ordinal);
create index training_job_status on training_job (org_id, status, ordinal);
-- Places in the queue. They are counted without looking at rows, where a vacuum has been since.
alter table training_job set (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05);
create index training_job_queue on training_job (org_id, ordinal) where state = 'pending';
-- The oldest job that a runner can take, however many wait that it cannot. `ordinal + 0` has no other index, so that the planner
-- never walks along one of those past all the jobs that do not fit, which it does where it takes them for few.
create index training_job_wanted on training_job (org_id, kind, container_version, gpus, (ordinal + 0)) where state = 'pending';
-- What runners hold. Not by lease_until, which every heartbeat changes: no index has to follow those.
create index training_job_held on training_job (runner_id) where state in ('in_progress', 'canceling');
-- Logs are removed some time after the end.
create index training_job_ended on training_job (ended_on) where ended_on is not null;
