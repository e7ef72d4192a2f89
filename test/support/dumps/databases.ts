import { Effect } from "effect"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdDecompressSync } from "node:zlib"
import { Client, type QueryResultRow } from "pg"
import { inject } from "vitest"
import { quoteName } from "../../../src/domain/sql/Names.ts"
import { type Login, parseLogin, pgConfig } from "../../../src/layers/postgres/Login.ts"
import { eventually } from "../eventually.ts"

/** Superuser login of the test server. */
export const serverLogin = () => parseLogin(inject("databaseUrl")) as Login

/** A superuser connection to a database of the test server, until the scope closes. */
export const clientOn = (database: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client(pgConfig({ ...serverLogin(), database }, {}))
      client.on("error", () => undefined)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )

/** Runs statements as superuser on a database of the test server; returns the rows of the last one. */
export const on = (database: string, ...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const client = yield* clientOn(database)
    let rows: ReadonlyArray<QueryResultRow> = []
    for (const statement of statements) {
      rows = (yield* Effect.promise(() => client.query<QueryResultRow>(statement))).rows
    }
    return rows
  }).pipe(Effect.scoped)

/** Creates a database until the scope closes; returns its name. */
export const makeDatabase = (name: string, options = "", ...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const database = `${name} ${process.pid}`
    yield* Effect.acquireRelease(on("postgres", `create database ${quoteName(database)} ${options}`), () =>
      on("postgres", `drop database ${quoteName(database)} with (force)`)
    )
    yield* on(database, ...statements)
    return database
  })

/** An empty directory, until the scope closes. */
export const directory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "svc-dump-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

export const filesIn = (path: string) => Effect.promise(() => readdir(path))

/** The script in a file of a plain dump. */
export const scriptIn = (file: string) => Effect.promise(async () => zstdDecompressSync(await readFile(file)))

/** Sessions of dumps in a database. */
export const dumpSessions = (database: string) =>
  on(
    "postgres",
    `select pid, query from pg_stat_activity where application_name = 'svc backup' and datname = '${database.replaceAll("'", "''")}'`
  )

/** Waits until no session of a dump is left in a database. */
export const noDumpSessions = (database: string) =>
  eventually(dumpSessions(database), (sessions) => sessions.length === 0)

/** The process of a dump's session in a database, once its statement is this. */
export const dumpSession = (database: string, statement: RegExp) =>
  eventually(
    Effect.map(dumpSessions(database), (sessions) => sessions.find(({ query }) => statement.test(String(query)))),
    (session) => session !== undefined
  ).pipe(Effect.map((session) => Number(session?.["pid"])))

/** Holds a table of a database until the scope ends. */
export const lockTable = (database: string, table: string) =>
  Effect.flatMap(clientOn(database), (client) =>
    Effect.promise(() => client.query(`begin; lock table ${table} in access exclusive mode`))
  )

/** About 30 MB, so that a dump takes long enough to be interrupted. */
export const wideTable =
  "create table wide as select n, repeat(md5(n::text), 30) as text from generate_series(1, 30000) n"
