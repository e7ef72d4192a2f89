import { Effect, Redacted } from "effect"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { zstdCompressSync } from "node:zlib"
import { Client } from "pg"
import { restorePlain } from "../../../src/layers/dumps/plain/Restore.ts"
import { type Login, pgConfig } from "../../../src/layers/postgres/Login.ts"
import { type OnProgress, type RestoreTarget } from "../../../src/services/ports/DumpTools.ts"
import { Outside } from "../database.ts"

/** Time limit of a dump or restore, in ms. */
export const timeout = 60_000

let made = 0
/** An empty database, until the scope closes. */
export const emptyDatabase = (options = "") =>
  Effect.gen(function* () {
    const { login, sql } = yield* Outside
    const database = `${login.database}_${++made}`
    yield* Effect.acquireRelease(sql(`create database ${database} template template0 ${options}`), () =>
      sql(`drop database ${database} with (force)`)
    )
    return { ...login, database }
  })

/** A directory, until the scope closes. */
export const temporaryDirectory = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "svc-restore-"))),
  (directory) => Effect.promise(() => rm(directory, { recursive: true, force: true }))
)

/** Restores with the rights of a login itself. */
export const asItself = ({ database, password, user }: Login): RestoreTarget => ({
  database,
  role: user,
  login: user,
  password
})

/** An empty database that belongs to a role without further rights, as that of a branch that is being filled. */
export const unprivileged = Effect.gen(function* () {
  const { sql } = yield* Outside
  const { database } = yield* emptyDatabase()
  // No right on the databases of other tests, as the roles of branches.
  const [role, login] = [`svc_branch_${database}`, `svc_branch_${database}_keys`]
  yield* Effect.acquireRelease(
    sql(
      `create role ${role} nologin; create role ${login} login noinherit password 'restore-secret'; grant ${role} to ${login};
       grant all on database ${database} to ${role}`
    ),
    () => sql(`revoke all on database ${database} from ${role}; drop role ${login}`)
  )
  const target: RestoreTarget = { database, role, login, password: Redacted.make("restore-secret") }
  const outside = { ...(yield* Outside).login, database }
  yield* ask(outside, `alter schema public owner to ${role}`)
  return { target, outside }
})

/** A file with this content. */
export const write = (content: Buffer) =>
  Effect.tap(
    Effect.map(temporaryDirectory, (directory) => join(directory, "dump.sql.zst")),
    (file) => Effect.promise(() => writeFile(file, content))
  )

/** A file with this script, compressed. */
export const packed = (text: string, encoding: BufferEncoding = "utf8") =>
  write(zstdCompressSync(Buffer.from(text, encoding)))

/** Restores into a new database; `reported` is the progress. */
export const restored = Effect.fnUntraced(function* (
  file: string,
  options: { readonly timeout?: number; readonly made?: string } = {}
) {
  const login = yield* emptyDatabase(options.made)
  const reported: Array<number> = []
  const restore = restorePlain({ ...login, database: "postgres" }, { timeout, ...options })
  yield* restore(file, asItself(login), (fraction) => Effect.sync(() => reported.push(fraction)))
  return { login, reported }
})

/** One statement in another database. */
export const ask = (login: Outside["Service"]["login"], text: string) =>
  Effect.promise(async () => {
    const client = new Client(pgConfig(login, {}))
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end()
    }
  })

/** Why a restore fails; the files of a test share one database, because creating one is slow. */
export const failures = Effect.map(
  emptyDatabase(),
  (login) =>
    (file: string, options: { readonly timeout?: number; readonly onProgress?: OnProgress } = {}) =>
      Effect.gen(function* () {
        const { onProgress = () => Effect.void } = options
        yield* ask(login, "drop table if exists public.t; drop function if exists public.slow")
        const restore = restorePlain(login, { timeout, ...options })(file, asItself(login), onProgress)
        return (yield* Effect.flip(restore)).reason
      })
)

/** Number of sessions of restores. */
export const sessions = Effect.gen(function* () {
  const { sql } = yield* Outside
  const [row] = yield* sql("select count(*)::int as n from pg_stat_activity where application_name = 'svc restore'")
  return row?.["n"]
})

/** Whether they end soon. */
export const sessionsEnd = Effect.gen(function* () {
  for (let n = 0; n < 50; n++) {
    if ((yield* sessions) === 0) return true
    yield* Effect.sleep("100 millis")
  }
  return false
})
