import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { join } from "node:path"
import { to as copyTo } from "pg-copy-streams"
import { atPlace } from "../../../src/layers/postgres/Login.ts"
import { dumpWasm } from "../../../src/layers/dumps/wasm/Wasm.ts"
import {
  clientOn,
  directory,
  filesIn,
  makeDatabase,
  on,
  scriptIn,
  serverLogin,
  wideTable
} from "../../support/dumps/databases.ts"
import { startNarrowServer } from "../../support/dumps/narrowServer.ts"
import { eventually } from "../../support/eventually.ts"

const options = { timeout: 60_000 }

/** Dumps a database over this connection; returns the script. */
const dumped = (database: string, login = serverLogin()) =>
  Effect.gen(function* () {
    const path = yield* directory
    const file = join(path, "it.sql.zst")
    yield* dumpWasm(login, options)(database, file, () => Effect.void)
    assert.deepStrictEqual(yield* filesIn(path), ["it.sql.zst"])
    return yield* scriptIn(file)
  })

/** The output of PostgreSQL's COPY. */
const copied = (database: string, statement: string) =>
  Effect.gen(function* () {
    const client = yield* clientOn(database)
    return yield* Effect.promise(async () => {
      await client.query("set client_encoding = 'UTF8'; set search_path = ''")
      return Buffer.concat(await client.query(copyTo(statement)).toArray())
    })
  }).pipe(Effect.scoped)

/** Asserts that a script has a table's rows exactly as COPY outputs them. */
const assertRows = Effect.fnUntraced(function* (database: string, script: Buffer, table: string, columns: string) {
  const expected = Buffer.concat([
    Buffer.from(`\nCOPY ${table} (${columns}) FROM stdin;\n`),
    yield* copied(database, `copy ${table} (${columns}) to stdout`),
    Buffer.from("\\.\n")
  ])
  assert.isAbove(expected.length, 100)
  assert.isTrue(script.includes(expected), `${table} differs between the dump and the database`)
})

/** Values that can break a dump. */
const awkward = [
  "create table awkward (id int, text text)",
  String.raw`insert into awkward values (1, E'before\n\\restrict abc\n\\unrestrict abc\n\\.\nafter'), (2, '\N'), (3, null), (4, ''),
    (5, E'tab\tback\\slash\rreturn'), (6, 'näme 😀'), (7, '-- PostgreSQL database dump complete')`,
  "insert into awkward select n, repeat(chr(97 + n % 26), 2000000 + n) from generate_series(8, 12) n",
  `create schema "Odd ""schema"`,
  `create table "Odd ""schema"."tab.le (x) '" ("co l" int, "select" text)`,
  `insert into "Odd ""schema"."tab.le (x) '" select n, md5(n::text) from generate_series(1, 5000) n`,
  "create table nothing ()",
  "insert into nothing default values",
  "select lo_from_bytea(4711, decode(repeat('00ff', 100000), 'hex'))"
]

it.live("rows arrive exactly as PostgreSQL copies them out", () =>
  Effect.gen(function* () {
    const database = yield* makeDatabase("dump awkward", "", ...awkward)
    const script = yield* dumped(database)
    yield* assertRows(database, script, "public.awkward", "id, text")
    yield* assertRows(database, script, `"Odd ""schema"."tab.le (x) '"`, `"co l", "select"`)
    const text = script.toString("latin1")
    assert.match(text, /^--\n-- PostgreSQL database dump\n--\n\n\\restrict \w+\n/)
    assert.match(text, /-- PostgreSQL database dump complete\n--\n\n\\unrestrict \w+\n\n$/)
    assert.match(text, /\\x(00ff){100}/)
  }).pipe(Effect.scoped)
)

it.live("a connection that delivers a few bytes at a time gives the same dump", () =>
  Effect.gen(function* () {
    const database = yield* makeDatabase(
      "dump crumbs",
      "",
      "create table crumbs as select n, md5(n::text) as text from generate_series(1, 2000) n",
      "insert into crumbs select 0, repeat('long', 20000)"
    )
    const { port } = yield* Effect.acquireDisposable(
      Effect.promise(() => startNarrowServer(serverLogin().at.port, { smallChunks: true }))
    )
    const script = yield* dumped(database, atPlace(serverLogin(), { host: "127.0.0.1", port }))
    yield* assertRows(database, script, "public.crumbs", "n, text")
  }).pipe(Effect.scoped)
)

it.live("progress grows with the rows, and ends at 1", () =>
  Effect.gen(function* () {
    const database = yield* makeDatabase(
      "dump progress",
      "",
      wideTable,
      "analyze wide",
      "create table wider as select * from wide"
    )
    // A third of the first of two tables that are equally large.
    const narrow = yield* Effect.acquireDisposable(
      Effect.promise(() => startNarrowServer(serverLogin().at.port, { holdAfter: 10_000_000 }))
    )
    const path = yield* directory
    const progress: Array<number> = []
    const dump = dumpWasm(atPlace(serverLogin(), { host: "127.0.0.1", port: narrow.port }), options)
    const dumping = yield* Effect.forkChild(
      dump(database, join(path, "it.sql.zst"), (fraction) => Effect.sync(() => progress.push(fraction)))
    )
    yield* eventually(
      Effect.sync(() => progress.at(-1) ?? 0),
      (fraction) => fraction > 0.1 && fraction < 0.25
    )
    narrow.open()
    yield* Fiber.join(dumping)
    for (const [i, fraction] of progress.entries()) {
      assert.isAbove(fraction, progress[i - 1] ?? 0)
      assert.isAtMost(fraction, i === progress.length - 1 ? 1 : 0.99)
    }
    assert.strictEqual(progress.at(-1), 1)
  }).pipe(Effect.scoped)
)

it.live("text is UTF-8 for any database encoding, and unchanged without one", () =>
  Effect.gen(function* () {
    const sql = ["create table letters as select n, 'näme' || n as text from generate_series(1, 10) n"]
    const latin = yield* makeDatabase("dump latin", "template template0 encoding latin1 locale 'C'", ...sql)
    const script = yield* dumped(latin)
    yield* assertRows(latin, script, "public.letters", "n, text")
    assert.isTrue(script.includes("\nSET client_encoding = 'UTF8';\n"))
    const bare = yield* makeDatabase("dump bare", "template template0 encoding sql_ascii locale 'C'")
    yield* on(bare, "set client_encoding = 'SQL_ASCII'", String.raw`create table bytes as select E'\xe9\xff' as text`)
    const raw = yield* dumped(bare)
    assert.isTrue(raw.includes("\nSET client_encoding = 'SQL_ASCII';\n"))
    assert.isTrue(raw.includes(Buffer.from([0x0a, 0xe9, 0xff, 0x0a])))
  }).pipe(Effect.scoped)
)
