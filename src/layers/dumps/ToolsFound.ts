import { Effect, Layer } from "effect"
import { Unavailable } from "../../domain/errors.ts"
import { BackupSettings } from "../../services/backups/Settings.ts"
import { type DumpFormat, type DumpTool, DumpTools } from "../../services/ports/DumpTools.ts"
import { globalsScript } from "./Globals.ts"
import { dumpContents } from "./contents/Contents.ts"
import { contentsNative, dumpNative, restoreNative } from "./native/Native.ts"
import { findPrograms, bestFit, inspectPrograms, type Programs, unfit } from "./native/Programs.ts"
import { layerProcesses } from "./native/Process.ts"
import { dumpWasm, wasmMajor, wasmVersion } from "./wasm/Wasm.ts"
import { restorePlain } from "./plain/Restore.ts"
import { PostgresAddress } from "../postgres/Address.ts"
import { type Login } from "../postgres/Login.ts"
import { outageOrDie, connectDirectly } from "../postgres/client/DirectConnection.ts"

/** Programs may be installed while the service runs. */
const cacheFor = "5 minutes"

const missing = (error: string, server: number) =>
  new Unavailable({
    error,
    code: "BACKUP_TOOL_MISSING",
    hint: `Install the client programs of PostgreSQL ${server}, or set PG_BIN_DIR to the directory of its pg_dump and pg_restore`,
    retry_after: 60
  })

/** The tools that can dump a server, searched at first use. */
export const makeDumpTools = Effect.fnUntraced(function* (login: Login) {
  const { programs: preferred, timeout } = yield* BackupSettings
  const spawner = yield* Effect.context<Layer.Success<typeof layerProcesses>>()
  const needsTls = login.at.ssl !== false

  const search = yield* Effect.all({
    own: preferred === undefined ? Effect.void : inspectPrograms(preferred),
    others: findPrograms
  }).pipe(Effect.provideContext(spawner), Effect.cachedWithTTL(cacheFor))

  const serverMajor = connectDirectly(login).pipe(
    Effect.flatMap((side) => side.query("select current_setting('server_version_num')::int / 10000 as major")),
    Effect.map(([row]) => Number(row?.["major"])),
    Effect.scoped,
    Effect.catchTag("QueryFailed", outageOrDie)
  )

  /** Logs a text about something once, until it changes. */
  const logged = new Map<"tool" | "PG_BIN_DIR", string>()
  const logChange = (about: "tool" | "PG_BIN_DIR", text: string) =>
    Effect.suspend(() => {
      if (logged.get(about) === text) return Effect.void
      logged.set(about, text)
      return about === "tool" ? Effect.logInfo(text) : Effect.logWarning(text)
    })

  /** The programs to use; undefined if none fit. */
  const found = Effect.fnUntraced(function* (server: number) {
    const { others, own } = yield* search
    if (own === undefined) return bestFit(others, server, needsTls)
    const problem = typeof own === "string" ? own : unfit(own, server, needsTls)
    if (problem === undefined && typeof own !== "string") return own
    yield* logChange("PG_BIN_DIR", `The programs in PG_BIN_DIR (${preferred}) can't make backups: ${problem}`)
    return bestFit(others, server, needsTls)
  })

  const native = (programs: Programs): DumpTool => {
    const dump = dumpNative(programs, login, { timeout })
    const restore = restoreNative(programs, login, { timeout })
    return {
      strategy: "pg_dump",
      version: programs.version,
      format: "custom",
      contents: contentsNative(programs),
      dump: (...given) => Effect.provideContext(dump(...given), spawner),
      restore: (...given) => Effect.provideContext(restore(...given), spawner)
    }
  }

  const wasm: DumpTool = {
    strategy: "pg_dump-wasm",
    version: wasmVersion,
    format: "plain",
    contents: (file) => dumpContents({ file }),
    dump: dumpWasm(login, { timeout }),
    restore: restorePlain(login, { timeout })
  }

  const current = Effect.gen(function* () {
    const server = yield* serverMajor
    const programs = yield* found(server)
    if (programs !== undefined) {
      yield* logChange("tool", `Backups use pg_dump ${programs.version} (${programs.directory})`)
      return native(programs)
    }
    if (server > wasmMajor) {
      return yield* missing(`No pg_dump found for PostgreSQL ${server}, and the built-in one is too old`, server)
    }
    yield* logChange(
      "tool",
      `Backups use the built-in pg_dump ${wasmVersion}: no installed one fits PostgreSQL ${server}`
    )
    return wasm
  })

  const reader = Effect.fnUntraced(function* (format: DumpFormat) {
    if (format === "plain") return wasm
    const server = yield* serverMajor
    const programs = yield* found(server)
    if (programs !== undefined) return native(programs)
    return yield* missing(`This backup needs pg_restore for PostgreSQL ${server}, and none was found`, server)
  })

  return DumpTools.of({ current, reader, globals: globalsScript(login) })
}, Effect.provide(layerProcesses))

/** The tools for the server of the main database. */
export const layerDumpToolsFound = Layer.effect(DumpTools, Effect.flatMap(PostgresAddress, makeDumpTools))
