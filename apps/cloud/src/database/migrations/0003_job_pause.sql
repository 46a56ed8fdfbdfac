-- After trouble of a runner its job waits a little, so that three tries are not over within a second.
alter table training_job add column not_before timestamptz(3);
