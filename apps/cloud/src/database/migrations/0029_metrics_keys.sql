-- Keys that only read metrics and the details of the readiness page. Both are about the whole installation.
alter table access_grant
  drop constraint access_grant_role_check,
  add constraint access_grant_role_check check (role in ('owner', 'operator', 'runner', 'metrics')),
  add constraint access_grant_metrics_check check (role <> 'metrics' or resource_type = 'installation');
