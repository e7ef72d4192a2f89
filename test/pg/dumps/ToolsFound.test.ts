import { assert, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, describe, vi } from "vitest"
import { layerProcesses } from "../../../src/layers/dumps/native/Process.ts"
import {
  findPrograms,
  bestFit,
  inspectPrograms,
  type Programs,
  unfit
} from "../../../src/layers/dumps/native/Programs.ts"
import { layerDumpToolsFound } from "../../../src/layers/dumps/ToolsFound.ts"
import { atPlace, type Login } from "../../../src/layers/postgres/Login.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { BackupSettings } from "../../../src/services/backups/Settings.ts"
import { DumpTools } from "../../../src/services/ports/DumpTools.ts"
import { asItself } from "../../support/backups/restores.ts"
import { directory, makeDatabase, on, serverLogin } from "../../support/dumps/databases.ts"

const place = process.env["SVC_TEST_PG_BIN"]

/** Creates fake programs that print their version and fail otherwise. */
const fake = (path: string, version: string, script = "", restore = version) =>
  Effect.promise(async () => {
    await mkdir(path, { recursive: true })
    for (const [name, printed] of [
      ["pg_dump", version],
      ["pg_restore", restore]
    ] as const) {
      const text = `#!/bin/sh\n${script}\n[ "$1" = --version ] && echo "${name} (PostgreSQL) ${printed}" && exit\necho "pg_dump: error: connection to server on socket failed" >&2\nexit 1\n`
      await writeFile(join(path, name), text)
      await chmod(join(path, name), 0o755)
    }
    return path
  })

const tools = (programs: string | undefined, login: Login = serverLogin()) => {
  const logged: Array<string> = []
  const settings = BackupSettings.of({
    directory: "/nonexistent",
    programs,
    bucket: undefined,
    schedule: undefined,
    keep: [],
    verify: "auto",
    timeout: 60_000
  })
  const layer = layerDumpToolsFound.pipe(
    Layer.provide(Layer.mergeAll(Layer.succeed(PostgresAddress, login), Layer.succeed(BackupSettings, settings))),
    Layer.provideMerge(
      Logger.layer([Logger.make(({ logLevel, message }) => void logged.push(`${logLevel} ${String(message)}`))])
    )
  )
  return { layer, logged }
}

const made = (version: string, more: Partial<Programs> = {}): Programs => {
  const [major = 0, minor = 0] = version.split(".").map(Number)
  return { directory: version, dump: "", restore: "", version, major, minor, zstd: true, tls: true, ...more }
}

afterEach(() => {
  vi.unstubAllEnvs()
})

it("the newest programs of the version closest to the server's are used, and only those that fit", () => {
  const all = ["14.2", "15.9", "16.1", "16.4", "17.2", "18.0"].map((version) => made(version))
  const picked = (server: number) => bestFit(all, server, false)?.version
  assert.deepStrictEqual([15, 16, 17, 18, 19].map(picked), ["15.9", "16.4", "17.2", "18.0", undefined])
  // pg_restore 17 sets parameters that older servers don't have.
  assert.strictEqual(bestFit([made("17.2"), made("18.0")], 16, false), undefined)
  assert.strictEqual(bestFit([made("18.0")], 17, false)?.version, "18.0")
  assert.strictEqual(bestFit([made("18.1", { tls: false }), made("18.0")], 18, true)?.version, "18.0")
  assert.match(unfit(made("18.1", { tls: false }), 18, true) ?? "", /without TLS/)
})

it.live("a directory needs both programs, of one version, that run", () =>
  Effect.gen(function* () {
    const path = yield* directory
    const look = (name: string) => Effect.provide(inspectPrograms(join(path, name)), layerProcesses)
    yield* fake(join(path, "good"), "18.4 (Debian 18.4-1.pgdg12+1)")
    const good = yield* look("good")
    assert.deepInclude(good, { version: "18.4", major: 18, minor: 4, zstd: true, tls: true })
    yield* fake(join(path, "beta"), "19beta1")
    assert.deepInclude(yield* look("beta"), { version: "19beta1", major: 19 })
    yield* fake(
      join(path, "bare"),
      "18.4",
      `case "$*" in *zstd*) echo "no ZSTD" >&2; exit 1;; esac\n[ "$PGSSLMODE" = require ] && exit 1`
    )
    assert.deepInclude(yield* look("bare"), { zstd: false, tls: false })
    yield* fake(join(path, "mixed"), "18.4", "", "17.1")
    assert.strictEqual(yield* look("mixed"), "pg_restore and pg_dump have different versions")
    yield* fake(join(path, "broken"), "18.4", "exit 127")
    assert.strictEqual(yield* look("broken"), "pg_dump does not print its version")
    assert.strictEqual(yield* look("none"), "pg_dump does not exist")
    yield* Effect.promise(async () => {
      await mkdir(join(path, "wrapped"))
      await writeFile(join(path, "pg_wrapper"), "#!/bin/sh\necho 'pg_dump (PostgreSQL) 18.4'")
      await chmod(join(path, "pg_wrapper"), 0o755)
      for (const name of ["pg_dump", "pg_restore"]) await symlink(join(path, "pg_wrapper"), join(path, "wrapped", name))
    })
    assert.strictEqual(yield* look("wrapped"), "pg_dump does not exist")

    vi.stubEnv("PATH", `relative:${join(path, "none")}:${join(path, "good")}:/bin:/usr/bin`)
    const found = yield* Effect.provide(findPrograms, layerProcesses)
    assert.include(
      found.map(({ directory }) => directory),
      join(path, "good")
    )
  }).pipe(Effect.scoped)
)

it.live(
  "a program that hangs is terminated",
  () =>
    Effect.gen(function* () {
      const path = yield* directory
      yield* fake(path, "18.4", "trap '' TERM; while :; do sleep 1; done")
      const from = performance.now()
      assert.strictEqual(
        yield* Effect.provide(inspectPrograms(path), layerProcesses),
        "pg_dump does not print its version"
      )
      assert.isBelow(performance.now() - from, 9_000)
    }).pipe(Effect.scoped),
  15_000
)

it.live("without programs that are new enough the built-in pg_dump is used, which is logged once", () =>
  Effect.gen(function* () {
    const path = yield* fake(yield* directory, "15.3")
    const { layer, logged } = tools(path)
    const [server] = yield* on("postgres", "select current_setting('server_version_num')::int / 10000 as major")
    const others = bestFit(yield* Effect.provide(findPrograms, layerProcesses), Number(server?.["major"]), false)
    yield* Effect.gen(function* () {
      const { current, reader } = yield* DumpTools
      const tool = yield* current
      yield* current
      assert.strictEqual((yield* reader("plain")).strategy, "pg_dump-wasm")
      if (others === undefined) {
        assert.deepInclude(tool, { strategy: "pg_dump-wasm", format: "plain" })
        const missing = yield* Effect.flip(reader("custom"))
        assert.deepInclude(missing, { status: 503, code: "BACKUP_TOOL_MISSING" })
      } else assert.deepInclude(tool, { strategy: "pg_dump", version: others.version })
    }).pipe(Effect.provide(layer))
    assert.lengthOf(logged, 2, logged.join("\n"))
    assert.include(
      logged[0],
      `Warn The programs in PG_BIN_DIR (${path}) can't make backups: pg_dump 15.3 is older than the server (`
    )
    assert.match(logged[1] ?? "", /^Info Backups use (the built-in )?pg_dump /)
  }).pipe(Effect.scoped)
)

it.live("programs in PG_BIN_DIR have priority; without the database the search fails", () =>
  Effect.gen(function* () {
    const path = yield* fake(yield* directory, "97.1")
    const { layer, logged } = tools(path)
    const tool = yield* Effect.provide(
      Effect.flatMap(DumpTools, ({ current }) => current),
      layer
    )
    assert.deepInclude(tool, { strategy: "pg_dump", version: "97.1", format: "custom" })
    assert.deepStrictEqual(logged, [`Info Backups use pg_dump 97.1 (${path})`])
    const away = tools(path, atPlace(serverLogin(), { host: "127.0.0.1", port: 1 }))
    const error = yield* Effect.flip(
      Effect.provide(
        Effect.flatMap(DumpTools, ({ current }) => current),
        away.layer
      )
    )
    assert.strictEqual(error.code, "DATABASE_UNAVAILABLE")
  }).pipe(Effect.scoped)
)

describe.skipIf(place === undefined)("with the programs of SVC_TEST_PG_BIN", () => {
  it.live("the reader restores a dump of the current tool", () =>
    Effect.gen(function* () {
      const { layer } = tools(place)
      const source = yield* makeDatabase("tools source", "template template0", "create table t as select 7 as n")
      const target = yield* makeDatabase("tools target", "template template0")
      const file = join(yield* directory, "it")
      yield* Effect.gen(function* () {
        const { current, reader } = yield* DumpTools
        const tool = yield* current
        assert.deepInclude(tool, { strategy: "pg_dump", format: "custom" })
        yield* tool.dump(source, file, () => Effect.void)
        yield* (yield* reader("custom")).restore(
          file,
          asItself({ ...serverLogin(), database: target }),
          () => Effect.void
        )
      }).pipe(Effect.provide(layer))
      assert.deepStrictEqual(yield* on(target, "select n from t"), [{ n: 7 }])
    }).pipe(Effect.scoped)
  )
})
