-- Why a configuration was saved, in the words of who saved it.
alter table config_revision add column comment text not null default '';
