import { call } from "../wire/call.ts"

/** `/v1/sql/transaction` takes 20, of which the first is ours. */
const mostStatements = 19

/** Many statements as one. */
const block = (statements: ReadonlyArray<string>) => {
  const body = statements.map((statement) => `${statement};`).join("\n")
  let mark = "$ddl$"
  for (let at = 1; body.includes(mark); at++) mark = `$ddl${at}$`
  return `do ${mark}\nbegin\n${body}\nend ${mark}`
}

/** ms that a statement may take which is not in a transaction: indexes of large tables take minutes. */
const aloneMillis = 600_000

/** Runs a statement that PostgreSQL refuses in a transaction, such as the one that makes an index without stopping writes. */
export const runAlone = (sql: string) => call("POST /v1/sql", { payload: { sql, timeout: aloneMillis } })

/**
 * Runs statements that change the schema, all or none. They wait at most 2 s for a lock: behind a waiting statement all
 * other users of the table would wait as well.
 */
export const runDdl = (statements: ReadonlyArray<string>) => {
  const all = statements.length > mostStatements ? [block(statements)] : statements
  return call("POST /v1/sql/transaction", {
    payload: { statements: ["set local lock_timeout = '2s'", ...all].map((sql) => ({ sql })) }
  })
}
