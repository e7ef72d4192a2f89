import { Context, Data, type Effect } from "effect"
import { type Unavailable } from "../../domain/errors.ts"

/** `custom`: pg_dump's own archive. `plain`: an SQL script with COPY, compressed with zstd (RFC 8878). */
export type DumpFormat = "custom" | "plain"

/** A dump or a restore came to nothing; `reason` is for people, without passwords. */
export class DumpFailed extends Data.TaggedError("DumpFailed")<{ readonly reason: string }> {}

/** How far it is, 0–1; never less than before. */
export type OnProgress = (fraction: number) => Effect.Effect<void>

/** Writes databases of our server to files, and files to databases. Both end soon after they are interrupted. */
export interface DumpTool {
  readonly strategy: "pg_dump" | "pg_dump-wasm"
  /** Of the tool: `18.4`. */
  readonly version: string
  readonly format: DumpFormat
  /** Makes `file`, whose directory is there, readable by us alone, whole and synced; nothing is left of a failure. */
  readonly dump: (database: string, file: string, onProgress: OnProgress) => Effect.Effect<void, DumpFailed>
  /** Fills an empty database. Owners are left out: everything belongs to our login. What a failure leaves is in the database. */
  readonly restore: (file: string, database: string, onProgress: OnProgress) => Effect.Effect<void, DumpFailed>
}

/** What can dump our server. Layer: layers/DumpToolsFound.ts. */
export class DumpTools extends Context.Service<
  DumpTools,
  {
    /** The programs of PostgreSQL where they are at least as new as the server, else pg_dump as WebAssembly. */
    readonly current: Effect.Effect<DumpTool, Unavailable>
    /** What reads files of this format. Fails with 503 `BACKUP_TOOL_MISSING`. */
    readonly reader: (format: DumpFormat) => Effect.Effect<DumpTool, Unavailable>
    /**
     * Script that makes what a dump of the database refers to but does not hold: roles that are missing (without
     * passwords and logins) and their memberships, and the settings of the database. Can be run more than once.
     */
    readonly globals: (database: string) => Effect.Effect<string, Unavailable>
  }
>()("svc/services/DumpTools") {}
