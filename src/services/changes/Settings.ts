import { Effect } from "effect"
import { integer, oneOf } from "../../domain/Settings.ts"

/** The source of row changes: triggers, or the write-ahead log. */
export const changeSource = oneOf("SVC_CHANGES", "trigger", ["trigger", "wal"])

/** The log that PostgreSQL keeps for the service, in MiB, before it drops it and changes are lost. */
export const changeLogLimit = integer("SVC_CHANGES_MAX_WAL_MB", 4096, 64, 10_000_000)

/** Settings, so that invalid ones are reported before anything is started. */
export const changeSettings = Effect.all([changeSource, changeLogLimit])
