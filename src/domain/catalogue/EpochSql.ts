/**
 * The catalogue's epoch as a scalar subquery: the number of transactions with DDL that have committed. Each adds a row, so
 * that none waits for another.
 */
export const epochSql = "(select coalesce(pg_catalog.sum(n), 0) from svc_ddl.changes)"
