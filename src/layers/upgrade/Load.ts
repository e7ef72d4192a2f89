import { Effect, Exit, Scope } from "effect"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { pipeline } from "node:stream"
import { createZstdDecompress } from "node:zlib"
import { DumpScript } from "../../domain/dumps/Script.ts"
import { type DumpStatement } from "../../domain/dumps/Statement.ts"
import { quoteLiteral, quoteName } from "../../domain/sql/Names.ts"
import { PlainRestoreQuery } from "../dumps/plain/Query.ts"
import { hidesNames } from "../dumps/plain/Runner.ts"
import { connectRestore, restoreFailed, restoreRefusal, type RestoreSession } from "../dumps/plain/Session.ts"
import { type Login } from "../postgres/Login.ts"

const part = String.raw`(?:"(?:[^"]|"")+"|[^".\s(]+)`
const qualified = String.raw`(${part}\.${part})`
/** The table that is filled, as pg_dump writes its name. */
const copied = new RegExp(`^COPY ${qualified} `)
/** The table to which a constraint is added that looks at all rows, and the one that a foreign key refers to. */
const constrained = new RegExp(
  String.raw`^ALTER TABLE (?:ONLY )?${qualified}\s+ADD CONSTRAINT ${part} (?:CHECK|FOREIGN KEY) `
)
const referenced = new RegExp(String.raw` REFERENCES ${qualified}\(`)

const textOf = ({ parts }: DumpStatement) => Buffer.concat(parts).toString("utf8").trim()

const isTimeout = ({ head }: DumpStatement) => head[0] === "SET" && head[1]?.endsWith("_TIMEOUT") === true

/** Whether names of extensions' tables are to be left alone: those have rows of the extension already. */
const tableSql = (name: string) => `
  select r.rolname::text as owner,
    exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e') as extended
  from pg_class c join pg_roles r on r.oid = c.relowner where c.oid = ${quoteLiteral(name)}::regclass`

const schemasSql = `select string_agg(quote_ident(nspname), ', ') as names from pg_namespace
  where nspname !~ '^pg_' and nspname <> 'information_schema'`

const simple = ({ client }: RestoreSession, text: string) =>
  Effect.tryPromise({
    try: () => client.query<Readonly<Record<string, unknown>>>(text),
    catch: (cause) => restoreRefusal(cause)
  }).pipe(Effect.map(({ rows }) => rows))

const begun = ({ client }: RestoreSession, statement: DumpStatement, more = "") =>
  Effect.gen(function* () {
    const parts = more === "" ? statement.parts : [...statement.parts, Buffer.from(more)]
    const query = client.query(new PlainRestoreQuery(parts, statement.size + more.length))
    const wantsRows = yield* Effect.tryPromise({
      try: () => query.wantsRows,
      catch: (cause) => restoreRefusal(cause, statement)
    })
    return { query, wantsRows }
  })

/** Roles with the rights of one owner each, which fill the tables of that owner. */
export const makeLoaders = (admin: Login) => {
  const names = new Map<string, string>()
  const asAdmin = (texts: ReadonlyArray<string>) =>
    connectRestore(admin).pipe(
      Effect.flatMap((session) => Effect.forEach(texts, (text) => simple(session, text), { discard: true })),
      Effect.scoped
    )
  const of = Effect.fnUntraced(function* (owner: string) {
    const known = names.get(owner)
    if (known !== undefined) return known
    const name = `svc_upgrade_loader_${names.size + 1}`
    yield* asAdmin([`create role ${name} login`, `grant ${quoteName(owner)} to ${name} with inherit true, set false`])
    names.set(owner, name)
    return name
  })
  /** Removes them, after their rights in all databases. */
  const remove = Effect.suspend(() => asAdmin([...names.values()].map((name) => `drop role ${name}`)))
  return { of, remove }
}

const inflated = (file: string, read: (bytes: number) => void) => {
  const source = createReadStream(file)
  source.on("data", (chunk) => read(chunk.length))
  const decompressed = createZstdDecompress({ chunkSize: 256 * 1024 })
  // The iterator reports errors of both streams.
  decompressed.on("error", () => undefined)
  pipeline(source, decompressed, () => undefined)
  return decompressed[Symbol.asyncIterator]() as AsyncIterator<Buffer>
}

/**
 * Loads a dump into an empty database, with all owners and rights. The superuser runs the statements, except for those that
 * look at rows: the constraints and generated columns of a table call functions that others wrote, so a session that has
 * the rights of the table's owner, and no others, fills it and adds its constraints. PostgreSQL itself builds indexes and
 * materialized views with the rights of their owner.
 *
 * @param path names of schemas in which the database's functions find what they name without a schema
 * @param report runs with the fraction that was read, 0–1
 */
export const loadDump = Effect.fnUntraced(function* (
  admin: Login,
  file: string,
  path: string,
  loaders: ReturnType<typeof makeLoaders>,
  report: (fraction: number) => Effect.Effect<void>
) {
  const outer = yield* Effect.scope
  const session = yield* connectRestore(admin)
  yield* simple(session, `set search_path to ${path}`)
  const used = new Set<string>()
  let filling:
    | { readonly owner: string; readonly user: string; readonly its: RestoreSession; readonly scope: Scope.Closeable }
    | undefined

  const loaderSession = Effect.fnUntraced(function* (owner: string) {
    if (filling?.owner === owner) return filling
    if (filling !== undefined) yield* Scope.close(filling.scope, Exit.void)
    filling = undefined
    const user = yield* loaders.of(owner)
    if (!used.has(user)) {
      used.add(user)
      const [schemas] = yield* simple(session, schemasSql)
      yield* simple(session, `grant usage on schema ${String(schemas?.["names"])} to ${user}`)
    }
    const scope = yield* Scope.fork(outer)
    const own = { row_security: "off", client_encoding: session.reported.get("client_encoding") ?? "UTF8" }
    const opened = yield* Scope.provide(connectRestore({ ...admin, user }, own), scope)
    yield* simple(opened, `set search_path to ${path}`)
    return (filling = { owner, user, its: opened, scope })
  })

  const beginCopy = Effect.fnUntraced(function* (statement: DumpStatement) {
    const name = copied.exec(textOf(statement))?.[1]
    if (name === undefined) return yield* restoreFailed("The dump has rows of an unknown table")
    const [table] = yield* simple(session, tableSql(name))
    const { its } = yield* loaderSession(String(table?.["owner"]))
    yield* simple(its, "begin")
    // Rows of a table that was made in the same transaction need no log, and can be frozen at once.
    const fresh = table?.["extended"] === false
    if (fresh) yield* simple(its, `truncate only ${name}`)
    return { its, ...(yield* begun(its, statement, fresh ? " WITH (FREEZE)" : "")) }
  })

  const script = new DumpScript()
  let copying:
    | { readonly its: RestoreSession; readonly query: PlainRestoreQuery; readonly statement: DumpStatement }
    | undefined

  const addConstraint = Effect.fnUntraced(function* (statement: DumpStatement, text: string, name: string) {
    const [table] = yield* simple(session, tableSql(name))
    const { its, user } = yield* loaderSession(String(table?.["owner"]))
    const other = referenced.exec(text)?.[1]
    // The grants of the dump come last.
    if (other !== undefined) yield* simple(session, `grant references on ${other} to ${user}`)
    yield* begun(its, statement)
  })

  const runStatement = Effect.fnUntraced(function* (statement: DumpStatement) {
    if (isTimeout(statement) || (statement.size < 200 && hidesNames.test(textOf(statement)))) return
    if (statement.head[0] === "COPY") {
      const { its, query, wantsRows } = yield* beginCopy(statement)
      if (!wantsRows) return
      copying = { its, query, statement }
      script.startRows()
      return
    }
    const text = statement.head[0] === "ALTER" ? textOf(statement) : ""
    const altered = constrained.exec(text)?.[1]
    if (altered === undefined) yield* begun(session, statement)
    else yield* addConstraint(statement, text, altered)
    script.standardStrings = session.reported.get("standard_conforming_strings") !== "off"
  })

  const runRows = Effect.fnUntraced(function* (bytes: Buffer | undefined) {
    if (copying === undefined) return
    const { its, query, statement } = copying
    const waiting = bytes === undefined ? query.endRows() : query.rows(bytes)
    if (waiting !== undefined) {
      yield* Effect.tryPromise({ try: () => waiting, catch: (cause) => restoreRefusal(cause, statement) })
    }
    if (bytes !== undefined) return
    copying = undefined
    yield* simple(its, "commit")
  })

  const { size } = yield* Effect.promise(() => stat(file))
  let read = 0
  const chunks = inflated(file, (bytes) => (read += bytes))
  for (;;) {
    const next = yield* Effect.tryPromise({
      try: () => chunks.next(),
      catch: (cause) => restoreFailed(`Failed to read ${file}: ${String(cause)}`)
    })
    if (next.done === true) break
    for (const piece of script.read(next.value)) {
      if (piece.kind === "problem") return yield* restoreFailed(piece.problem)
      if (piece.kind === "statement") yield* runStatement(piece)
      else yield* runRows(piece.kind === "rows" ? piece.bytes : undefined)
    }
    yield* report(read / size)
  }
  const problem = script.end()
  if (problem !== undefined) return yield* restoreFailed(problem)
  if (filling !== undefined) yield* Scope.close(filling.scope, Exit.void)
  for (const user of used) yield* simple(session, `drop owned by ${user}`)
  // The planner knows no sizes of new tables.
  yield* simple(session, "analyze")
  return undefined
}, Effect.scoped)
