/** SQL expression for a timestamptz as ISO 8601 text in UTC with milliseconds. */
export const isoSql = (expression: string) =>
  `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
