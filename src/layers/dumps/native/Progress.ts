import { Effect } from "effect"
import { readFile, stat } from "node:fs/promises"
import { type OnProgress } from "../../../services/ports/DumpTools.ts"
import { type Login } from "../../postgres/Login.ts"
import { connectDirectly, type DirectConnection } from "../../postgres/client/DirectConnection.ts"

/** Interval in ms. */
const pause = 500
/** Smallest change that is reported. */
const step = 0.005
/** Maximum until the file is synced and renamed. */
const maxFraction = 0.99

/** Progress of a program. */
interface Progress {
  /** Reads a line of --verbose. */
  readonly read: (line: string) => void
  /** Reports the progress while the program with this pid runs. */
  readonly watch: (pid: number) => Effect.Effect<void>
}

/** Polls a fraction, and reports it whenever it has grown. */
const makeFollow = (onProgress: OnProgress) => {
  let last = 0
  return <E, R>(fraction: Effect.Effect<number, E, R>) =>
    Effect.forever(
      Effect.gen(function* () {
        const now = Math.min(yield* fraction, maxFraction)
        if (now >= last + step) yield* onProgress((last = now))
        yield* Effect.sleep(pause)
      })
    )
}

interface Source {
  readonly size: number
  /** PostgreSQL's estimate; 0 or less if unknown. */
  readonly rows: number
}

const objects = "large objects"

/** Everything with rows in a dump, by pg_dump's names. Waits for locked tables, as the dump does. */
const sourcesSql = `
  select n.nspname || '.' || c.relname as name, pg_table_size(c.oid)::float8 as size, c.reltuples::float8 as rows
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind = 'r' and c.relpersistence <> 't' and n.nspname !~ '^(pg_|information_schema$)'
  union all select '${objects}', pg_table_size('pg_largeobject')::float8, 0`

const copiedSql = `
  select coalesce(sum(p.bytes_processed), 0)::float8 as bytes, coalesce(sum(p.tuples_processed), 0)::float8 as rows
  from pg_stat_progress_copy p join pg_stat_activity a using (pid) where a.application_name = $1`

const readSources = (side: DirectConnection) =>
  Effect.map(side.query(sourcesSql), (rows) => {
    const sources = new Map<string, Source>()
    for (const { name, rows: estimate, size } of rows) {
      sources.set(String(name), { size: Number(size), rows: Number(estimate) })
    }
    return { sources, total: [...sources.values()].reduce((sum, { size }) => sum + size, 1) }
  })

/** Copied fraction of a source. Sizes on disk and in a dump differ, so rows are used where they are known. */
const copiedPart = ({ rows, size }: Source, copied: Readonly<Record<string, unknown>> | undefined) =>
  Math.min(rows > 0 ? Number(copied?.["rows"]) / rows : Number(copied?.["bytes"]) / Math.max(size, 1), 1) || 0

/**
 * The fraction of the tables that a pg_dump has read: those it has named, and the server's count for the last one.
 *
 * @param session its application_name
 */
export const makeDumpProgress = (login: Login, session: string, onProgress: OnProgress): Progress => {
  const named: Array<string> = []
  const follow = makeFollow(onProgress)
  const watch = Effect.gen(function* () {
    const side = yield* connectDirectly(login, {
      lock_timeout: "2s",
      statement_timeout: "10s"
    })
    const { sources, total } = yield* Effect.retry(readSources(side), { while: ({ code }) => code !== "" })
    let done = 0
    let counted = 0
    const fraction = Effect.gen(function* () {
      for (; counted < named.length - 1; counted++) done += sources.get(named[counted] ?? "")?.size ?? 0
      const current = sources.get(named.at(-1) ?? "")
      if (current === undefined) return done / total
      const [copied] = yield* side.query(copiedSql, [session])
      return (done + current.size * copiedPart(current, copied)) / total
    })
    return yield* follow(fraction)
  })
  return {
    read: (line) => {
      const table = /^pg_dump: dumping contents of table "(.*)"$/.exec(line)?.[1]
      const name = table ?? (line.startsWith("pg_dump: saving large objects") ? objects : undefined)
      if (name !== undefined && named.at(-1) !== name) named.push(name)
    },
    // A failure of this connection does not affect the dump.
    watch: () => Effect.ignore(Effect.scoped(watch))
  }
}

const readText = (path: string) => readFile(path, "utf8").catch(() => "")

/** Updates the bytes that a process and its children have read from files so far, by pid. Linux only. */
const readBytes = async (pid: number, known: Map<number, number>) => {
  const children = (await readText(`/proc/${pid}/task/${pid}/children`)).split(" ").filter((text) => text !== "")
  for (const process of [pid, ...children.map(Number)]) {
    const bytes = /^rchar: (\d+)/m.exec(await readText(`/proc/${process}/io`))?.[1]
    if (bytes !== undefined) known.set(process, Number(bytes))
  }
}

/**
 * The progress of a pg_restore: by the entries that are done, and on Linux also by the bytes read, since a single table
 * may be most of the archive.
 *
 * @param entries number of entries in the archive
 */
export const makeRestoreProgress = (file: string, entries: number, onProgress: OnProgress): Progress => {
  let done = 0
  const follow = makeFollow(onProgress)
  const known = new Map<number, number>()
  const watch = Effect.fnUntraced(function* (pid: number) {
    const size = yield* Effect.promise(() =>
      stat(file).then(
        ({ size }) => size,
        () => 0
      )
    )
    const fraction = Effect.gen(function* () {
      yield* Effect.promise(() => readBytes(pid, known))
      const items = Math.min(done / entries, 1)
      if (known.size === 0 || size === 0) return items
      const read = [...known.values()].reduce((sum, bytes) => sum + bytes, 0)
      return (items + Math.min(read / size, 1)) / 2
    })
    return yield* follow(fraction)
  })
  return {
    read: (line) => {
      if (/^pg_restore: (processing|finished) item /.test(line)) done++
    },
    watch
  }
}
