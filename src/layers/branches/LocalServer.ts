import { Effect } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

/**
 * PostgreSQL writes postmaster.pid with the second in which its process began, and reports a moment after that, so the
 * two times may differ. In seconds.
 */
const longestDelay = 300

/** Columns that `isLocal` reads. */
export const serverColumns = `current_setting('port') as port,
              extract(epoch from pg_postmaster_start_time())::float8 as started`

/**
 * Whether the server that reports these columns is the one in `directory` on this machine: its postmaster.pid (PostgreSQL,
 * miscadmin.h) has the same port and about the same start.
 */
export const isLocal = (directory: string, server: { readonly [column: string]: unknown }) =>
  Effect.promise(async () => {
    const lines = (await readFile(join(directory, "postmaster.pid"), "utf8").catch(() => "")).split("\n")
    const delay = Math.floor(Number(server["started"])) - Number(lines[2])
    return delay >= 0 && delay <= longestDelay && Number(lines[3]) === Number(server["port"])
  })
