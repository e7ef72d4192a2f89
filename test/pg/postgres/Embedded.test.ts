import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Context, Effect, Fiber, Layer } from "effect"
import { spawn, spawnSync } from "node:child_process"
import {
  chmod,
  chown,
  copyFile,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  stat,
  writeFile
} from "node:fs/promises"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { Client } from "pg"
import { placeholders } from "../../../src/domain/supabase/Extensions.ts"
import { postgresPackage } from "../../../src/layers/postgres/embedded/Binaries.ts"
import { DataDir, isAlive } from "../../../src/layers/process/DataDir.ts"
import { layerAttachOrStart, layerEmbedded } from "../../../src/layers/postgres/embedded/Embedded.ts"
import { type Login } from "../../../src/layers/postgres/Login.ts"
import { PostgresAddress } from "../../../src/layers/postgres/Address.ts"
import { readPidFile } from "../../../src/layers/postgres/embedded/Process.ts"
import { failureMessages } from "../../../src/layers/postgres/embedded/Server.ts"
import { makeDataDir, removeDataDir } from "../../support/dataDir.ts"
import { databaseUrl } from "../../support/postgres/server.ts"

const isRoot = process.geteuid?.() === 0
/** Whether this machine has `chrt`, and allows it. */
const hasBatch = spawnSync("chrt", ["--batch", "0", "true"]).status === 0
const root = fileURLToPath(new URL("../../..", import.meta.url))
const dataDir = Effect.acquireRelease(Effect.promise(makeDataDir), (path) => Effect.promise(() => removeDataDir(path)))

/** Starts a server or attaches to one, until the scope closes. */
const open = (path: string, layer: typeof layerEmbedded = layerEmbedded) =>
  Effect.map(Layer.build(Layer.provide(layer, DataDir.at(path))), (context) => Context.get(context, PostgresAddress))

const query = (address: Login, sql: string) =>
  Effect.tryPromise(async () => {
    const client = new Client(databaseUrl(address))
    client.on("error", () => undefined)
    await client.connect()
    return (await client.query({ text: sql, rowMode: "array" }).finally(() => client.end())).rows
  })

const environment = (variables: Record<string, string>) => ConfigProvider.layer(ConfigProvider.fromEnvRecord(variables))

/** Polls until the condition is true; the test's timeout ends it. */
const until = <A, E>(look: Effect.Effect<A | undefined, E>) =>
  Effect.gen(function* () {
    for (;;) {
      const found = yield* Effect.orElseSucceed(look, () => undefined)
      if (found !== undefined) return found
      yield* Effect.sleep("10 millis")
    }
  })

const serverPid = (path: string) => Effect.map(readPidFile(join(path, "postgres")), (file) => file?.pid ?? 0)

/** A second process that starts a server or attaches to one, prints one line, and runs until it is killed. */
const other = (path: string, layer: "layerEmbedded" | "layerAttachOrStart" = "layerEmbedded") =>
  Effect.gen(function* () {
    const program = `
      import { Effect, Layer, ManagedRuntime } from "effect"
      import { DataDir } from "./src/layers/process/DataDir.ts"
      import { ${layer} } from "./src/layers/postgres/embedded/Embedded.ts"
      import { PostgresAddress } from "./src/layers/postgres/Address.ts"
      const runtime = ManagedRuntime.make(Layer.provide(${layer}, DataDir.at(${JSON.stringify(path)})))
      await runtime.runPromise(Effect.service(PostgresAddress)).then(
        ({ at: { port } }) => console.log("ready " + port),
        (error) => console.log(error.message)
      )
      setInterval(() => undefined, 1000)`
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--input-type=module", "-e", program], {
          cwd: root,
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    const ended = new Promise<true>((resolve) => child.once("exit", () => resolve(true)))
    let output = ""
    child.stdout.on("data", (chunk) => (output += chunk))
    return {
      pid: child.pid ?? 0,
      line: until(Effect.sync(() => (output.includes("\n") ? output.trim() : undefined))),
      kill: Effect.promise(() => {
        child.kill("SIGKILL")
        return ended
      })
    }
  })

describe("the embedded PostgreSQL", () => {
  it.live.skipIf(!hasBatch)("has Linux schedule its backends as batch processes", () =>
    Effect.gen(function* () {
      const address = yield* open(yield* dataDir)
      // Field 41 of proc_pid_stat(5), the 39th behind the name; 3 is SCHED_BATCH.
      const policy = `select split_part(regexp_replace(pg_read_file('/proc/self/stat'), '^.*\\) ', ''), ' ', 39)`
      assert.deepStrictEqual(yield* query(address, policy), [["3"]])
    })
  )

  it.live("has extensions of other directories, and placeholders of what Supabase's files name", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      const directory = yield* dataDir
      // An extension as a package has it: its library is one of PostgreSQL's, under another name.
      const native = yield* postgresPackage
      const library = (yield* Effect.promise(() => readdir(join(native, "native/lib/postgresql")))).find((name) =>
        name.startsWith("unaccent.")
      )
      yield* Effect.promise(async () => {
        await mkdir(join(directory, "share/extension"), { recursive: true })
        await mkdir(join(directory, "lib"))
        await copyFile(
          join(native, "native/lib/postgresql", library ?? ""),
          join(directory, "lib", (library ?? "").replace("unaccent", "svc_words"))
        )
        await writeFile(
          join(directory, "share/extension/svc_words.control"),
          "default_version = '1'\nmodule_pathname = '$libdir/svc_words'\n"
        )
        await writeFile(
          join(directory, "share/extension/svc_words--1.sql"),
          "create function words_init(internal) returns internal as 'MODULE_PATHNAME', 'unaccent_init' language c;"
        )
        for (const each of [
          directory,
          join(directory, "share"),
          join(directory, "share/extension"),
          join(directory, "lib")
        ])
          await chmod(each, 0o755)
      })
      const directories = [join(directory, "share"), join(directory, "lib")].join(",")
      const started = (variables: Record<string, string>) => Effect.provide(open(path), environment(variables))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const address = yield* started({ SVC_SUPABASE: "true", SVC_PG_EXTENSIONS: directories })
          yield* query(address, "create extension svc_words")
          yield* query(
            address,
            "create schema graphql; create schema pgmq; create schema vault; create schema pgsodium; create schema extensions"
          )
          // As `supabase db pull` writes them.
          for (const [name, schema] of Object.entries(placeholders)) {
            yield* query(address, `create extension if not exists "${name}" with schema "${schema}"`)
          }
          const made = yield* query(
            address,
            "select extname::text, extnamespace::regnamespace::text from pg_extension where extname ~ '^(pg_[cg]|pgj|pgm|pgs|sup)' order by 1"
          )
          assert.deepStrictEqual(
            made,
            Object.entries(placeholders).toSorted(([a], [b]) => (a < b ? -1 : 1))
          )
          const missing = yield* Effect.flip(query(address, "create extension vector"))
          assert.match(String(missing.cause), /not available/)
        })
      )
      // The package of PyPI that docs/operations.md names, which the tests of upgrades use too.
      const bin = process.env["SVC_TEST_PG_BIN"]
      if (bin !== undefined) {
        const package_ = ["share", "lib"].map((name) => join(dirname(bin), name)).join(",")
        yield* Effect.scoped(
          Effect.gen(function* () {
            const address = yield* started({ SVC_PG_EXTENSIONS: package_ })
            yield* query(address, "create extension vector")
            yield* query(address, "create table items (at vector(2))")
            yield* query(address, "create index on items using hnsw (at vector_l2_ops)")
            yield* query(address, "insert into items values ('[1,2]'), ('[3,4]')")
            const nearest = yield* query(address, "select at::text from items order by at <-> '[3,3]' limit 1")
            assert.deepStrictEqual(nearest, [["[3,4]"]])
          })
        )
      }
      const relative = yield* Effect.flip(started({ SVC_PG_EXTENSIONS: "share" }))
      assert.match(relative.message, /SVC_PG_EXTENSIONS must be absolute paths/)
      const absent = yield* Effect.flip(started({ SVC_PG_EXTENSIONS: join(directory, "none") }))
      assert.match(absent.message, /none of SVC_PG_EXTENSIONS is not a directory/)
    })
  )

  it("that does not start names the last fatal error with its details, or a full disk", () => {
    const line = (text: string) => `2026-01-01 00:00:00.000 UTC [7] ${text}`
    const lines = [
      line("HINT:  some data is corrupted"),
      line('FATAL:  data directory "/d" has invalid permissions'),
      line("DETAIL:  Permissions should be u=rwx (0700) or u=rwx,g=rx (0750)."),
      line("LOG:  database system is shut down")
    ]
    assert.deepStrictEqual(failureMessages(lines), [
      'FATAL:  data directory "/d" has invalid permissions',
      "DETAIL:  Permissions should be u=rwx (0700) or u=rwx,g=rx (0750)."
    ])
    assert.deepStrictEqual(failureMessages([...lines, line("PANIC:  could not write: No space left on device")]), [
      "the disk of SVC_DATA_DIR is full, free some space"
    ])
    assert.deepStrictEqual(failureMessages(["ld: error while loading libpq", "x"]), ["ld: error while loading libpq"])
  })

  it.live("is created at the first start and reused at the next", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      const port = yield* Effect.scoped(
        Effect.gen(function* () {
          const address = yield* open(path)
          yield* query(address, "create table kept as select 'still here' as it")
          const facts = yield* query(
            address,
            `select upper('äžß'), lower('ÄŽ'), current_setting('server_encoding'), current_setting('max_connections'),
               current_setting('cluster_name'), current_setting('listen_addresses'), current_setting('TimeZone')`
          )
          assert.deepStrictEqual(facts, [["ÄŽß", "äž", "UTF8", "200", "svc", "127.0.0.1", "UTC"]])
          return address.at.port
        })
      )
      assert.isUndefined(yield* readPidFile(join(path, "postgres")), "ended with its scope")
      const { again, rows } = yield* Effect.scoped(
        Effect.gen(function* () {
          const address = yield* open(path)
          return { again: address.at.port, rows: yield* query(address, "table kept") }
        })
      )
      assert.deepStrictEqual(rows, [["still here"]])
      // The URL of other programs stays the same, as long as the port is free.
      assert.strictEqual(again, port)
      const level = Effect.gen(function* () {
        const taken = createServer().listen(again, "127.0.0.1")
        const address = yield* Effect.ensuring(
          open(path),
          Effect.sync(() => taken.close())
        )
        assert.notStrictEqual(address.at.port, again)
        return yield* query(address, "select pg_create_logical_replication_slot('s', 'pgoutput') is not null")
      })
      const slots = yield* level.pipe(Effect.scoped, Effect.provide(environment({ SVC_PG_WAL_LEVEL: "logical" })))
      assert.deepStrictEqual(slots, [[true]])
      assert.strictEqual((yield* Effect.promise(() => stat(join(path, "secrets.json")))).mode & 0o777, 0o600)
    })
  )

  it.live("lets only one process use the data directory", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      const both = [yield* other(path), yield* other(path)]
      const lines = yield* Effect.forEach(both, (one) => one.line)
      const winner = both[lines[0]?.startsWith("ready") ? 0 : 1]
      const refusal = `The data directory ${path} is in use by process ${winner?.pid}: stop that process, or set another SVC_DATA_DIR`
      assert.deepStrictEqual(
        lines.filter((line) => !line.startsWith("ready")),
        [refusal]
      )
      assert.strictEqual((yield* Effect.flip(open(path))).message, refusal)
      // A tool attaches to the server of that process.
      const address = yield* open(path, layerAttachOrStart)
      assert.include(lines, `ready ${address.at.port}`)
      assert.deepStrictEqual(yield* query(address, "select 1"), [[1]])
    })
  )

  it.live("recovers after its process was killed and the server left running", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      const killed = yield* other(path)
      yield* killed.line
      const address = yield* open(path, layerAttachOrStart)
      yield* query(address, "create table kept as select 1 as it")
      const orphan = yield* serverPid(path)
      yield* killed.kill
      assert.isTrue(isAlive(orphan))
      const again = yield* open(path)
      assert.isFalse(isAlive(orphan))
      assert.deepStrictEqual(yield* query(again, "table kept"), [[1]])
    })
  )

  it.live("starts a server for a tool if none is running, despite a stale postmaster.pid", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      yield* Effect.scoped(open(path))
      // As after a power failure, with the pid reused by another program.
      const stale = `${process.pid}\n${join(path, "postgres")}\n1\n5432\n\n127.0.0.1\n\nready\n`
      yield* Effect.promise(() => writeFile(join(path, "postgres", "postmaster.pid"), stale))
      const address = yield* open(path, layerAttachOrStart)
      assert.deepStrictEqual(yield* query(address, "select 1"), [[1]])
    })
  )

  it.live("restarts a killed server on the same port", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      const address = yield* open(path)
      yield* query(address, "create table kept as select 1 as it")
      // A busy backend, which notices the server's death only at the end of its statement.
      const busy = yield* Effect.forkChild(Effect.exit(query(address, "select count(*) from generate_series(1, 1e10)")))
      const isBusy = "select 1 from pg_stat_activity where query like '%1e10%' and pid <> pg_backend_pid()"
      yield* until(Effect.map(query(address, isBusy), (rows) => rows.at(0)))
      process.kill(yield* serverPid(path), "SIGKILL")
      const rows = yield* until(query(address, "table kept"))
      assert.deepStrictEqual(rows, [[1]])
      yield* Fiber.join(busy)
    })
  )

  it.live("starts over after an interrupted initdb", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      const killed = yield* other(path)
      yield* until(
        Effect.tryPromise(async () => {
          const name = (await readdir(path)).find((name) => name.startsWith("postgres.new-"))
          return name === undefined ? undefined : await stat(join(path, name, "data", "PG_VERSION"))
        })
      )
      yield* killed.kill
      assert.isFalse((yield* Effect.promise(() => readdir(path))).includes("postgres"))
      const address = yield* open(path)
      assert.deepStrictEqual(yield* query(address, "select 1"), [[1]])
    })
  )

  it.live("refuses data whose secrets are lost or foreign, until an operator does without them", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      const secrets = join(path, "secrets.json")
      yield* Effect.scoped(open(path))
      const kept = yield* Effect.promise(() => readFile(secrets, "utf8"))
      yield* Effect.promise(() => rm(secrets))
      const lost = yield* Effect.flip(open(path))
      assert.match(
        lost.message,
        /secrets\.json is missing, but .* has data\. .*encryption_key.*jwt_secret.*s3_access_key/
      )
      assert.match(
        lost.message,
        /Restore the file from a copy\. To go on without it, .* create it with the content \{\}/
      )
      assert.notInclude(yield* Effect.promise(() => readdir(path)), "secrets.json")

      yield* Effect.promise(() => writeFile(secrets, kept.replace(/("installation": ")[^"]+/, "$1another")))
      assert.match((yield* Effect.flip(open(path))).message, /secrets\.json belongs to another installation/)

      yield* Effect.promise(() => writeFile(secrets, kept))
      assert.deepStrictEqual(yield* Effect.scoped(Effect.flatMap(open(path), (at) => query(at, "select 1"))), [[1]])

      // The password of the database is one of them, and is set to the new one.
      yield* Effect.promise(() => writeFile(secrets, "{}"))
      assert.deepStrictEqual(yield* query(yield* open(path), "select 1"), [[1]])
      assert.notStrictEqual(yield* Effect.promise(() => readFile(secrets, "utf8")), kept)
    })
  )

  it.live("refuses to create a database in place of one that is missing", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      yield* Effect.scoped(open(path))
      const cluster = join(path, "postgres")
      yield* Effect.promise(() => rename(cluster, `${cluster}.away`))
      const missing = yield* Effect.flip(open(path))
      assert.include(missing.message, `${cluster} is missing, but ${path} (SVC_DATA_DIR) has held its database`)
      assert.notInclude(yield* Effect.promise(() => readdir(path)), "postgres")
      yield* Effect.promise(() => rename(`${cluster}.away`, cluster))
      assert.deepStrictEqual(yield* query(yield* open(path), "select 1"), [[1]])
    })
  )

  it.live("rejects the data of another major version, and a port in use", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      yield* Effect.scoped(open(path))
      const taken = yield* Effect.acquireRelease(
        Effect.promise(
          () =>
            new Promise<ReturnType<typeof createServer>>((resolve) => {
              const server = createServer().listen(0, "127.0.0.1", () => resolve(server))
            })
        ),
        (server) => Effect.sync(() => server.close())
      )
      const address = taken.address()
      const port = typeof address === "object" ? address?.port : 0
      const busy = yield* Effect.flip(Effect.provide(open(path), environment({ SVC_PG_PORT: String(port) })))
      assert.strictEqual(
        busy.message,
        `PostgreSQL cannot listen on 127.0.0.1:${port} (SVC_PG_PORT): the port is in use`
      )
      yield* Effect.promise(() => writeFile(join(path, "postgres", "PG_VERSION"), "17\n"))
      const error = yield* Effect.flip(open(path))
      assert.match(
        error.message,
        /postgres was created by PostgreSQL 17, but this is PostgreSQL 18: run svc upgrade-database .* or set DATABASE_URL$/
      )
      yield* Effect.promise(() => writeFile(join(path, "postgres", "PG_VERSION"), "19\n"))
      const newer = yield* Effect.flip(open(path))
      assert.match(
        newer.message,
        /postgres was created by PostgreSQL 19, which is newer than PostgreSQL 18 of this release: start the release that created it/
      )
    })
  )

  it.live.runIf(isRoot)("as root, stores data elsewhere if PostgreSQL's user cannot enter the directory", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      yield* Effect.promise(() => chmod(path, 0o700))
      const address = yield* Effect.scoped(open(path))
      assert.strictEqual(address.user, "postgres")
      assert.match(yield* Effect.promise(() => readlink(join(path, "postgres"))), /^\/var\/lib\/svc\//)
      // As a copy leaves it that does not keep the mode.
      yield* Effect.promise(() => chmod(join(path, "postgres"), 0o755))
      assert.deepStrictEqual(yield* query(yield* open(path), "select 1"), [[1]])
      assert.strictEqual((yield* Effect.promise(() => stat(join(path, "postgres")))).mode & 0o777, 0o700)
    })
  )

  it.live.runIf(isRoot)("as root, runs as the owner of the directory", () =>
    Effect.gen(function* () {
      const path = yield* dataDir
      yield* Effect.promise(() => chown(path, 65_534, 65_534))
      yield* Effect.scoped(open(path))
      for (const name of ["postgres", "secrets.json", "lock"]) {
        assert.strictEqual((yield* Effect.promise(() => stat(join(path, name)))).uid, 65_534, name)
      }
    })
  )
})
