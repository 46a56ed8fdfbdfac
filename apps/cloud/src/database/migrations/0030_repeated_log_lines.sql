-- Log lines that came under the identity of another line: two starts of an agent continued one state. See logs/store/repeated-lines.ts.

alter table part
  add column repeated_lines bigint not null default 0,
  add column repeated_lines_on timestamptz(3);
