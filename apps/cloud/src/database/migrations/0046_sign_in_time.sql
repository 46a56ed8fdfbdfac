-- When the user last signed in with a link that no session created: sessions can't renew this time by links of their own.
-- Null in a link: the moment at which it is used.
alter table sign_in_link add column signed_in_on timestamptz(3);
alter table browser_session add column signed_in_on timestamptz(3);
update browser_session set signed_in_on = created_on;
alter table browser_session alter column signed_in_on set not null;
