import { Effect } from "effect"
import { createZstdDecompress } from "node:zlib"
import { pipeline, Readable } from "node:stream"
import { DumpScript } from "../../domain/dumps/Script.ts"
import { type DumpStatement } from "../../domain/dumps/Statement.ts"
import { quoteLiteral } from "../../domain/sql/Names.ts"
import { PlainRestoreQuery } from "../dumps/plain/Query.ts"
import { connectRestore, restoreRefusal, type RestoreSession } from "../dumps/plain/Session.ts"
import { type DirectConnection } from "../postgres/client/DirectConnection.ts"
import { type Login } from "../postgres/Login.ts"
import { attempt, StartError } from "../process/StartError.ts"

/** What a new database has of its own besides the schema public. */
const emptySql = `
  select n.nspname::text as schema, coalesce(c.relname, p.proname)::text as name
  from pg_namespace n
  left join pg_class c on c.relnamespace = n.oid
  left join pg_proc p on p.pronamespace = n.oid
  where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    and (n.nspname <> 'public' or c.oid is not null or p.oid is not null)
    and not exists (select from pg_depend d where d.deptype = 'e' and d.refclassid = 'pg_extension'::regclass
                    and (d.classid, d.objid) in (('pg_class'::regclass, c.oid), ('pg_proc'::regclass, p.oid), ('pg_namespace'::regclass, n.oid)))
  limit 1`

/** The setting in the database: the id of the archive that it was loaded from. */
const loadedSetting = "imported_archive"

/** Whether an import has loaded the database from this archive. */
export const isLoaded = Effect.fnUntraced(function* (connection: DirectConnection, archive: string) {
  const [found] = yield* connection.query("select to_regclass('svc.settings') is not null as exists")
  if (found?.["exists"] !== true) return false
  const [row] = yield* connection.query("select value from svc.settings where name = $1", [loadedSetting])
  return row?.["value"] === archive
})

/** Something that the database contains; undefined if it is as new. */
export const databaseContent = (connection: DirectConnection) =>
  Effect.map(connection.query(emptySql), ([row]) =>
    row === undefined ? undefined : [row["schema"], row["name"]].filter((name) => name !== null).join(".")
  )

const isTimeout = ({ head }: DumpStatement) => head[0] === "SET" && head[1]?.endsWith("_TIMEOUT") === true

/** Whether a statement gives an object to the login that owned the installation: it belongs to the login that imports it. */
const isOwned = (statement: DumpStatement, owner: string) => {
  if (!statement.owner) return false
  const name = /OWNER TO ("(?:[^"]|"")*"|\S+)$/.exec(textOf(statement))?.[1] ?? ""
  return (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name) === owner
}

const textOf = ({ parts }: DumpStatement) => Buffer.concat(parts).toString("utf8").trim()

const settled = <A>(promise: Promise<A>, statement?: DumpStatement) =>
  promise.catch((cause: unknown) => {
    throw new Error(restoreRefusal(cause, statement).reason)
  })

const runScript = async ({ client, reported }: RestoreSession, bytes: AsyncIterable<Uint8Array>, owner: string) => {
  const script = new DumpScript()
  let copying: { readonly query: PlainRestoreQuery; readonly statement: DumpStatement } | undefined
  for await (const chunk of bytes) {
    for (const piece of script.read(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))) {
      if (piece.kind === "problem") throw new Error(piece.problem)
      if (piece.kind === "statement") {
        if (isTimeout(piece) || isOwned(piece, owner)) continue
        const query = client.query(new PlainRestoreQuery(piece.parts, piece.size))
        if (await settled(query.wantsRows, piece)) {
          copying = { query, statement: piece }
          script.startRows()
        }
        script.standardStrings = reported.get("standard_conforming_strings") !== "off"
      } else if (copying !== undefined) {
        const { query, statement } = copying
        const waiting = piece.kind === "rows" ? query.rows(piece.bytes) : query.endRows()
        if (piece.kind === "rows end") copying = undefined
        if (waiting !== undefined) await settled(waiting, statement)
      }
    }
  }
  const problem = script.end()
  if (problem !== undefined) throw new Error(problem)
}

const inflated = (bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> => {
  const decompressed = createZstdDecompress()
  // The iterator reports errors of both streams.
  decompressed.on("error", () => undefined)
  pipeline(Readable.from(bytes, { objectMode: false }), decompressed, () => undefined)
  return decompressed
}

/** Archives of version 0.1.0 do not have it among their roles. */
const loginSql = `do $$ begin
  if not exists (select from pg_roles where rolname = 'svc_authenticator') then create role svc_authenticator nologin; end if;
end $$`

/**
 * Loads a dump into an empty database, with the rights of its login, in one transaction: after a failure or a crash the
 * database is empty.
 *
 * @param roles the script of the roles, which runs in the same transaction
 * @param dump compressed with zstd
 * @param archive the id of the archive
 * @param owner the login that owned the service's tables; the target's login owns them then
 */
export const loadDatabase = (
  login: Login,
  roles: Buffer,
  dump: AsyncIterable<Uint8Array>,
  { archive, owner }: { readonly archive: string; readonly owner: string }
) =>
  connectRestore(login).pipe(
    Effect.flatMap((session) =>
      attempt("Failed to load the database, which is empty as before", async () => {
        const run = (text: string) => settled(session.client.query(text))
        await run("begin")
        await run(loginSql)
        await run(roles.toString("utf8"))
        await runScript(session, inflated(dump), owner)
        await run(
          `insert into svc.settings (name, value) values ('${loadedSetting}', ${quoteLiteral(archive)})
           on conflict (name) do update set value = excluded.value`
        )
        await run("set local synchronous_commit = on")
        await run("commit")
        // The planner knows no sizes of new tables.
        await run("analyze")
      })
    ),
    Effect.scoped,
    Effect.catchTag("DumpFailed", ({ reason }) => new StartError({ message: reason }))
  )
