import { Context, Data, type Effect, type Redacted } from "effect"
import { type DumpContents } from "../../domain/dumps/Contents.ts"
import { type Unavailable } from "../../domain/errors.ts"

/** `custom`: pg_dump's own archive. `plain`: an SQL script with COPY, compressed with zstd (RFC 8878). */
export type DumpFormat = "custom" | "plain"

/** A dump or a restore failed; `reason` is for users, and contains no passwords. `code`: if the error has one of its own. */
export class DumpFailed extends Data.TaggedError("DumpFailed")<{
  readonly reason: string
  readonly code?: "BACKUP_ALTERED" | "BACKUP_UNVERIFIED"
}> {}

/** Progress, 0–1, never decreasing. */
export type OnProgress = (fraction: number) => Effect.Effect<void>

/** An empty database to restore into, and who restores it: a dump is not trusted with the rights of the service's login. */
export interface RestoreTarget {
  readonly database: string
  /** Owns everything that is restored, and may create schemas. */
  readonly role: string
  /** A login that may become `role`, and may do nothing else. */
  readonly login: string
  readonly password: Redacted.Redacted
}

/** Dumps databases of the server to files, and restores files to databases. Both end soon after an interruption. */
export interface DumpTool {
  readonly strategy: "pg_dump" | "pg_dump-wasm"
  /** Version of the tool, such as `18.4`. */
  readonly version: string
  readonly format: DumpFormat
  /** Creates `file` in an existing directory, synced and readable by the service alone; a failure leaves nothing. */
  readonly dump: (database: string, file: string, onProgress: OnProgress) => Effect.Effect<void, DumpFailed>
  /** Reads a file's statements and rows. */
  readonly contents: (file: string) => Effect.Effect<DumpContents, DumpFailed>
  /** Fills an empty database, with the rights of its role. A failure leaves objects in the database. */
  readonly restore: (file: string, target: RestoreTarget, onProgress: OnProgress) => Effect.Effect<void, DumpFailed>
}

/** Port: what can dump the server. Real layer: layers/dumps/ToolsFound.ts. */
export class DumpTools extends Context.Service<
  DumpTools,
  {
    /** PostgreSQL's programs if they fit the server, else pg_dump as WebAssembly. */
    readonly current: Effect.Effect<DumpTool, Unavailable>
    /** The tool that restores files of this format. 503 `BACKUP_TOOL_MISSING`. */
    readonly reader: (format: DumpFormat) => Effect.Effect<DumpTool, Unavailable>
    /**
     * A script that creates what a dump of the database refers to but does not contain: missing roles (without passwords
     * and logins), their memberships, and the settings of the database. It can be run more than once.
     */
    readonly globals: (database: string) => Effect.Effect<string, Unavailable>
  }
>()("svc/services/DumpTools") {}
