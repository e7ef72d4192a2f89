/** Whether the database is a Citus cluster. Without Citus its catalogue does not exist, and no other query can name it. */
export const isCitusSql = "pg_catalog.to_regclass('pg_catalog.pg_dist_partition') is not null"
