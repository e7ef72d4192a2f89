import { call } from "../wire/call.ts"

/**
 * Runs statements that change the schema, all or none. They wait at most 2 s for a lock: behind a waiting statement all
 * other users of the table would wait as well.
 */
export const runDdl = (statements: ReadonlyArray<string>) =>
  call("POST /v1/sql/transaction", {
    payload: { statements: ["set local lock_timeout = '2s'", ...statements].map((sql) => ({ sql })) }
  })
