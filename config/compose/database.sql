-- The first start of the Postgres in config/compose.yaml: a role without rights over others that owns the
-- mirror, the roles to grant to people (docs/operations.md, The database and its roles), and Grafana's, which reads.
\set ON_ERROR_STOP on
\set password `cat "${MUSTERD_PASSWORD_FILE:-/run/secrets/database-password}"`
\set grafana_password `cat "${MUSTERD_GRAFANA_PASSWORD_FILE:-/run/secrets/grafana-database-password}"`
create role musterd_reader nologin;
create role musterd_editor nologin;
create role musterd_role_editor nologin;
create role musterd_approver nologin;
create role musterd login password :'password';
create role grafana login password :'grafana_password' in role musterd_reader;
create database musterd owner musterd encoding 'UTF8' template template0;
