import { Effect, Layer } from "effect"
import { Unavailable } from "../../domain/errors.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { type DumpFormat, type DumpTool, DumpTools } from "../../services/ports/DumpTools.ts"
import { globalsScript } from "./Globals.ts"
import { dumpNative, restoreNative } from "./native/Native.ts"
import { findPrograms, fittest, lookAt, type Programs, unfit } from "./native/Programs.ts"
import { layerProcesses } from "./native/Process.ts"
import { dumpWasm, wasmMajor, wasmVersion } from "./wasm/Wasm.ts"
import { restorePlain } from "./plain/Restore.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { outageOrDie, connectDirectly } from "../postgres/DirectConnection.ts"

/** Programs may be installed while we run. */
const remembered = "5 minutes"

const missing = (error: string, server: number) =>
  new Unavailable({
    error,
    code: "BACKUP_TOOL_MISSING",
    hint: `Install the client programs of PostgreSQL ${server}, or set PG_BIN_DIR to where its pg_dump and pg_restore are`,
    retry_after: 60
  })

/** What can dump the server of the main database. Looked for at first use. */
export const layerDumpToolsFound = Layer.effect(
  DumpTools,
  Effect.gen(function* () {
    const login = yield* PostgresAddress
    const { programs: preferred, timeout } = yield* BackupSettings
    const spawner = yield* Effect.context<Layer.Success<typeof layerProcesses>>()
    const needsTls = login.ssl !== false

    const search = yield* Effect.all({
      own: preferred === undefined ? Effect.void : lookAt(preferred),
      others: findPrograms
    }).pipe(Effect.provideContext(spawner), Effect.cachedWithTTL(remembered))

    const serverMajor = connectDirectly(login).pipe(
      Effect.flatMap((side) => side.query("select current_setting('server_version_num')::int / 10000 as major")),
      Effect.map(([row]) => Number(row?.["major"])),
      Effect.scoped,
      Effect.catchTag("QueryFailed", outageOrDie)
    )

    /** Said once for as long as it stays true. */
    const said = new Map<"tool" | "PG_BIN_DIR", string>()
    const say = (about: "tool" | "PG_BIN_DIR", text: string) =>
      Effect.suspend(() => {
        if (said.get(about) === text) return Effect.void
        said.set(about, text)
        return about === "tool" ? Effect.logInfo(text) : Effect.logWarning(text)
      })

    /** The programs to use; undefined when there are none. */
    const found = Effect.fnUntraced(function* (server: number) {
      const { others, own } = yield* search
      if (own === undefined) return fittest(others, server, needsTls)
      const problem = typeof own === "string" ? own : unfit(own, server, needsTls)
      if (problem === undefined && typeof own !== "string") return own
      yield* say("PG_BIN_DIR", `PG_BIN_DIR (${preferred}) is of no use for backups: ${problem}`)
      return fittest(others, server, needsTls)
    })

    const native = (programs: Programs): DumpTool => {
      const dump = dumpNative(programs, login, { timeout })
      const restore = restoreNative(programs, login, { timeout })
      return {
        strategy: "pg_dump",
        version: programs.version,
        format: "custom",
        dump: (...given) => Effect.provideContext(dump(...given), spawner),
        restore: (...given) => Effect.provideContext(restore(...given), spawner)
      }
    }

    const wasm: DumpTool = {
      strategy: "pg_dump-wasm",
      version: wasmVersion,
      format: "plain",
      dump: dumpWasm(login, { timeout }),
      restore: restorePlain(login, { timeout })
    }

    const current = Effect.gen(function* () {
      const server = yield* serverMajor
      const programs = yield* found(server)
      if (programs !== undefined) {
        yield* say("tool", `Backups are made by pg_dump ${programs.version} (${programs.directory})`)
        return native(programs)
      }
      if (server > wasmMajor) {
        return yield* missing(`There is no pg_dump for PostgreSQL ${server}, and the built-in one is older`, server)
      }
      yield* say("tool", `Backups are made by the built-in pg_dump ${wasmVersion}: no other fits PostgreSQL ${server}`)
      return wasm
    })

    const reader = Effect.fnUntraced(function* (format: DumpFormat) {
      if (format === "plain") return wasm
      const server = yield* serverMajor
      const programs = yield* found(server)
      if (programs !== undefined) return native(programs)
      return yield* missing(`There is no pg_restore for PostgreSQL ${server}, which this backup needs`, server)
    })

    return DumpTools.of({ current, reader, globals: globalsScript(login) })
  })
).pipe(Layer.provide(layerProcesses))
