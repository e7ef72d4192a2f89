import { assert } from "@effect/vitest"
import * as fc from "fast-check"
import { afterAll, beforeAll, describe, it } from "vitest"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

/** A type of each kind of text output, with texts of its values. */
const columns: Readonly<Record<string, readonly [type: string, value: fc.Arbitrary<string>]>> = {
  t: ["text", fc.string({ unit: fc.constantFrom('"', ",", "\\", "\n", "\r", "\t", " ", "(", ")", "é", "😀", "a") })],
  named: ["varchar(6)", fc.constantFrom("", "NULL", "null", "\\.", "\\N", " x ", "a,NULL", '"', "x\r\ny")],
  padded: ["char(4)", fc.constantFrom("", "a", "NULL", '"')],
  bytes: ["bytea", fc.uint8Array({ maxLength: 4 }).map((bytes) => `\\x${Buffer.from(bytes).toString("hex")}`)],
  flag: ["boolean", fc.constantFrom("t", "f")],
  number: ["numeric", fc.constantFrom("0.10", "NaN", "Infinity", "12345678901234567890.5")],
  real: ["double precision", fc.constantFrom("-0", "1e-300", "Infinity", "0.1")],
  at: ["timestamptz", fc.constantFrom("infinity", "2026-01-02 03:04:05.678+00", "0044-03-15 00:00:00+00 BC")],
  span: ["interval", fc.constantFrom("1 mon -2 days", "-00:00:00.5", "P1Y")],
  "j,1": ["jsonb", fc.oneof(fc.json(), fc.constantFrom('"a"', "null", '{"a": "\\\\ \\""}')).filter(isStorable)],
  'j"2': ["json", fc.oneof(fc.json(), fc.constantFrom('{"b":1, "b":2}', '"NULL"')).filter(isStorable)],
  texts: [
    "text[]",
    fc.constantFrom("{}", "{NULL}", '{"NULL","",a}', '{"a\\\\b","c\\"d"}', "{{a,b},{c,d}}", "[0:1]={a,b}")
  ],
  objects: ["jsonb[]", fc.constantFrom('{"{\\"a\\": 1}",NULL}', "{}")],
  pair: ["pair", fc.constantFrom('(1,"a ""b""\\\\")', "(,)", '(2,"")', "(,NULL)")],
  range: ["int4range", fc.constantFrom("empty", "[1,3)", "(,)")],
  spans: ["tstzmultirange", fc.constantFrom("{}", '{["2026-01-01 00:00:00+00","2026-01-02 00:00:00+00")}')],
  mood: ["mood", fc.constantFrom("NULL", "so, so", 'q"t', "\\")],
  net: ["inet", fc.constantFrom("10.0.0.1", "10.0.0.0/8", "::1")],
  id: ["uuid", fc.uuid()],
  x: ["xml", fc.constantFrom('<a b="c">\n</a>', "")],
  short: ["short", fc.constantFrom("", "a\\", "NULL")],
  doc: ["doc", fc.constantFrom('{"a": 1}', '"a"', "[1]")],
  words: ["tsvector", fc.constantFrom("'a':1 'b''c'", "'\\\\'")],
  bits: ["bit varying", fc.constantFrom("", "101")],
  point: ["point", fc.constantFrom("(1,2)")]
}

/** jsonb has no NUL, and no lone surrogates. */
function isStorable(text: string) {
  return !/\\u0000|\\ud[89a-f]/i.test(text) && text.isWellFormed()
}

const name = (text: string) => `"${text.replaceAll('"', '""')}"`
const names = Object.keys(columns)
const shape = names.map((column) => `${name(column)} ${columns[column]?.[0]}`).join(", ")
const row = fc.tuple(...names.map((column) => fc.option(columns[column]?.[1] ?? fc.constant(""), { freq: 4 })))

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({})
  for (const text of [
    "create type pair as (n int, t text)",
    `create type mood as enum ('NULL', 'so, so', 'q"t', '\\')`,
    "create domain short as text check (length(value) < 9)",
    "create domain doc as jsonb",
    `create table given (${shape})`,
    `create table taken (${shape})`,
    "create table one (v text)",
    "create table one_taken (v text)",
    // What may run user code runs once, so it is streamed without a try.
    "create view one_streamed as select v::short from one",
    "create function args(j jsonb, d doc, a text[], t text) returns text language sql immutable as $$ select concat_ws('|', j, d, a, coalesce(t, 'none')) $$",
    `create table keyed ("a,b" text, "select" text, plain int, primary key ("a,b", "select", plain))`
  ])
    await sql(service, text)
})
afterAll(() => service[Symbol.asyncDispose]())

const key = () => service.service_role
const read = async (path: string, headers: Readonly<Record<string, string>> = {}) =>
  (await ask(service, `GET /v1/db/${path}`, { key: key(), headers: { accept: "text/csv", ...headers } })).text
const send = (path: string, body: string, type = "text/csv") =>
  ask(service, `POST ${path}`, { key: key(), body, headers: { "content-type": type, prefer: "return=minimal" } })
const rowsOf = (table: string) => sql(service, `select t::text as row from ${table} t order by ctid`)

describe("CSV", () => {
  it("of what may run user code is streamed", async () => {
    const isStreamed = async (table: string, prefer = "return=representation") => {
      const headers = { accept: "text/csv", prefer }
      const reply = await ask(service, `GET /v1/db/${table}`, { key: key(), headers })
      return !reply.headers.has("content-range")
    }
    assert.isTrue(await isStreamed("given"))
    assert.isFalse(await isStreamed("given", "count=exact"))
    assert.isTrue(await isStreamed("one_streamed"))
    assert.isFalse(await isStreamed("one"))
  })

  it("is read as the same values by POST, imports and COPY itself", () =>
    fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 4 }), async (rows) => {
        await sql(service, "truncate given")
        for (const values of rows)
          await sql(
            service,
            `insert into given values (${values.map((_, at) => `$${at + 1}::text::${columns[names[at] ?? ""]?.[0]}`).join(", ")})`,
            values
          )
        const text = await read("given")
        assert.strictEqual(await read("given", { prefer: "count=exact" }), text)
        const kept = await rowsOf("given")
        assert.lengthOf(kept, rows.length)
        for (const way of ["/v1/db/taken", "/v1/db/taken/import", "/v1/db/taken/import?null="]) {
          await sql(service, "truncate taken")
          // The text NULL is quoted, so that no reader takes it for null.
          const reply = await send(way, text)
          assert.strictEqual(reply.status, 201, `${way} ${reply.text} ${text}`)
          assert.deepStrictEqual(await rowsOf("taken"), kept, way)
          assert.strictEqual(await read("taken"), text)
        }
      }),
      { numRuns: 40 }
    ))

  it("of one column has a line for each row", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(null, "", "NULL", "\\.", "a", "\n", ","), { maxLength: 4 }),
        async (values) => {
          await sql(service, "truncate one")
          for (const value of values) await sql(service, "insert into one values ($1)", [value])
          const text = await read("one")
          assert.strictEqual(await read("one_streamed"), text)
          assert.isTrue(text.startsWith("v\n"))
          for (const way of ["/v1/db/one_taken", "/v1/db/one_taken/import?null="]) {
            await sql(service, "truncate one_taken")
            assert.strictEqual((await send(way, text)).status, 201)
            const found = await sql(service, "select v from one_taken order by ctid")
            assert.deepStrictEqual(
              found,
              values.map((v) => ({ v })),
              `${way} ${JSON.stringify(text)}`
            )
          }
        }
      ),
      { numRuns: 40 }
    ))

  it("has the names of columns without rows, and backslashes once", async () => {
    await sql(service, "truncate given")
    assert.strictEqual(await read("given?select=t,%22j,1%22"), 't,"j,1"\n')
    await sql(service, "insert into given (t, bytes) values ('C:\\dir', '\\x00')")
    for (const path of ["given?select=t,bytes", "given?select=t,bytes&limit=5"])
      // A stream, by which all rows are sent, ends its last line.
      assert.strictEqual((await read(path)).trimEnd(), 't,bytes\n"C:\\dir","\\x00"')
    const written = await ask(service, "PATCH /v1/db/given?select=t,bytes&t=not.is.null", {
      key: key(),
      body: { flag: true },
      headers: { accept: "text/csv" }
    })
    assert.strictEqual(written.text, 't,bytes\n"C:\\dir","\\x00"')
  })

  it("and forms have the text of JSON, also for functions", async () => {
    await sql(service, "truncate taken")
    assert.strictEqual(
      (await send("/v1/db/taken", '"j,1",doc,texts,pair\n"{""a"":1}","[1]","{a,b}","(1,x)"')).status,
      201
    )
    assert.strictEqual(
      (await send("/v1/db/taken", "j%2C1=%7B%22a%22:2%7D&doc=1&texts=%7B%7D", "application/x-www-form-urlencoded"))
        .status,
      201
    )
    assert.deepStrictEqual(
      await sql(service, `select "j,1" as j, doc, texts::text, pair::text from taken order by ctid`),
      [
        { j: { a: 1 }, doc: [1], texts: "{a,b}", pair: "(1,x)" },
        { j: { a: 2 }, doc: 1, texts: "{}", pair: null }
      ]
    )
    const called = await send("/v1/db/rpc/args", 'j,d,a,t\n"{""a"":1}",[1],"{x,y}",')
    assert.strictEqual(called.text, '"{\\"a\\": 1}|[1]|{x,y}|none"')
    const refused = await send("/v1/db/taken", 'doc\n"{a"')
    assert.deepStrictEqual([refused.status, (refused.json as { code: string }).code], [400, "22P02"])
  })
})

describe("a location", () => {
  it("leads to the row", async () => {
    for (const values of [
      { "a,b": 'x"\\,y', select: "é)", plain: 1 },
      { "a,b": "", select: "*", plain: 2 }
    ]) {
      const made = await ask(service, "POST /v1/db/keyed", {
        key: key(),
        body: values,
        headers: { prefer: "return=headers-only" }
      })
      const found = await ask(service, `GET ${made.headers.get("location")}`, { key: key() })
      assert.deepStrictEqual([found.status, found.json], [200, [values]], found.text)
    }
  })
})
