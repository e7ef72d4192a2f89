/** Whether the database is a Citus cluster. Without Citus its catalogue does not exist, and no other query can name it. */
export const isCitusSql = "pg_catalog.to_regclass('pg_catalog.pg_dist_partition') is not null"

/** Whether Citus keeps the rows of the table of this oid on workers, or in a table of another name. Valid without Citus too. */
export const isDistributedSql = (oid: string) => `exists (select from pg_catalog.pg_trigger spread
  where spread.tgrelid = ${oid} and spread.tgfoid = pg_catalog.to_regproc('pg_catalog.citus_truncate_trigger'))`
