import { assert, beforeAll, beforeEach, describe, inject, it } from "vitest"
import { ask, assertRefused, type Reply, type Request, sql } from "../../support/client.ts"

const service = inject("service")
const key = service.service_role

beforeAll(async () => {
  await sql(service, "create table e2e_write (id int primary key, name text, note text default 'none')")
  await sql(service, "create table e2e_write_keyless (a int)")
})
beforeEach(async () => {
  await sql(service, "truncate e2e_write")
  await sql(service, "insert into e2e_write values (1, 'one'), (2, 'two'), (3, 'three')")
})

const on = (line: string, body?: unknown, headers: Request["headers"] = {}) => {
  const [method = "", query = ""] = line.split(" ", 2)
  return ask(service, `${method} /v1/db/e2e_write${query}`, { key, headers, body })
}
const prefer = (...preferences: ReadonlyArray<string>) => ({ prefer: preferences.join(", ") })
const summaryOf = ({ headers, status, text }: Reply) => [
  status,
  headers.get("content-range"),
  headers.get("preference-applied"),
  text.replaceAll(/\s/g, "")
]
const rows = () => sql(service, "select id, name, note from e2e_write order by id")

describe("POST", () => {
  it("returns the rows, nothing, or the row's location", async () => {
    assert.deepStrictEqual(summaryOf(await on("POST ?select=id", { id: 4 })), [201, "*/*", null, '[{"id":4}]'])
    assert.deepStrictEqual(summaryOf(await on("POST ", { id: 5 }, prefer("return=minimal"))), [
      201,
      "*/*",
      "return=minimal",
      ""
    ])
    const located = await on("POST ", { id: 6 }, prefer("return=headers-only", "count=exact"))
    assert.deepStrictEqual(summaryOf(located), [201, "*/1", "return=headers-only, count=exact", ""])
    assert.strictEqual(located.headers.get("location"), "/v1/db/e2e_write?id=eq.6")
    assert.isNull(located.headers.get("content-type"))
  })

  it("returns 200 for a merge without inserts, 201 when ignoring duplicates, and Preference-Applied for both", async () => {
    const merge = prefer("resolution=merge-duplicates")
    const old = await on("POST ?select=id,name", { id: 1, name: "eins" }, merge)
    assert.deepStrictEqual(summaryOf(old), [200, "*/*", "resolution=merge-duplicates", '[{"id":1,"name":"eins"}]'])
    assert.strictEqual((await on("POST ", [{ id: 1 }, { id: 9 }], merge)).status, 201)
    const ignored = await on("POST ", { id: 1, name: "uno" }, prefer("resolution=ignore-duplicates"))
    assert.deepStrictEqual(summaryOf(ignored), [201, "*/*", "resolution=ignore-duplicates", "[]"])
  })

  it("does not apply a resolution on a table without unique columns", async () => {
    const line = "POST /v1/db/e2e_write_keyless"
    const headers = prefer("resolution=merge-duplicates", "return=minimal")
    const reply = await ask(service, line, { key, headers, body: { a: 1 } })
    assert.deepStrictEqual([reply.status, reply.headers.get("preference-applied")], [201, "return=minimal"])
  })
})

it("ignores `Prefer: tx` by default, and commits", async () => {
  const made = await on("POST ?select=id", { id: 8 }, prefer("tx=rollback", "return=representation"))
  assert.deepStrictEqual(summaryOf(made), [201, "*/*", "return=representation", '[{"id":8}]'])
  assert.deepInclude((await rows()).at(-1), { id: 8 })
})

describe("PUT", () => {
  it("returns 201 for a new row, 200 for an existing one, and 204 with return=minimal", async () => {
    const made = await on("PUT ?id=eq.7", { id: 7, name: "seven" })
    assert.deepStrictEqual([made.status, made.json], [201, [{ id: 7, name: "seven", note: "none" }]])
    const replaced = await on("PUT ?id=eq.7&select=name", { id: 7, name: "sept" }, prefer("return=representation"))
    assert.deepStrictEqual(summaryOf(replaced), [200, null, "return=representation", '[{"name":"sept"}]'])
    const silent = await on("PUT ?id=eq.7", { id: 7, name: "sieben" }, prefer("return=minimal"))
    assert.deepStrictEqual(summaryOf(silent), [204, null, "return=minimal", ""])
    assert.deepInclude((await rows()).at(-1), { id: 7, name: "sieben" })
  })

  it("requires a filter on exactly the primary key", async () => {
    assertRefused(await on("PUT ?name=eq.one", { id: 1 }), 405, "PGRST105")
    assertRefused(await on("PUT ?id=eq.1&limit=1", { id: 1 }), 400, "PGRST114")
    assertRefused(await on("PUT ?id=eq.1", { id: 2 }), 400, "PGRST115")
    assertRefused(await on("PUT ?id=eq.1", []), 400, "PGRST115")
    assertRefused(await on("PUT ?id=eq.1", [{ id: 2 }, { id: 3 }]), 400, "PGRST115")
    assert.strictEqual((await rows()).length, 3)
  })

  it("writes the row of several that matches the URL", async () => {
    const made = await on("PUT ?id=eq.7", [
      { id: 8, name: "eight" },
      { id: 7, name: "seven" }
    ])
    assert.deepStrictEqual([made.status, made.json], [201, [{ id: 7, name: "seven", note: "none" }]])
    assert.strictEqual((await rows()).length, 4)
  })
})

describe("PATCH and DELETE", () => {
  it("return the number of changed rows", async () => {
    const changed = await on("PATCH ?id=lt.3&select=id", { note: "x" })
    assert.deepStrictEqual(summaryOf(changed), [200, "0-1/*", null, '[{"id":1},{"id":2}]'])
    const counted = await on("PATCH ?id=lt.3", { note: "y" }, prefer("return=minimal", "count=exact"))
    assert.deepStrictEqual(summaryOf(counted), [204, "0-1/2", "return=minimal, count=exact", ""])
    assert.deepStrictEqual(summaryOf(await on("PATCH ?id=gt.9", { note: "y" })), [200, "*/*", null, "[]"])
    const deleted = await on("DELETE ?id=lt.3&select=id", undefined, prefer("count=exact"))
    assert.deepStrictEqual(summaryOf(deleted), [200, "*/2", "count=exact", '[{"id":1},{"id":2}]'])
    assert.deepStrictEqual(summaryOf(await on("DELETE ?id=eq.3", undefined, prefer("return=headers-only"))), [
      204,
      "*/*",
      "return=headers-only",
      ""
    ])
  })

  it("take one object, or an array of one", async () => {
    const changed = await on("PATCH ?id=eq.1&select=note", [{ note: "first" }])
    assert.deepStrictEqual(summaryOf(changed), [200, "0-0/*", null, '[{"note":"first"}]'])
    const restricted = await on("PATCH ?id=eq.1&columns=note", [{ id: 9, note: "x" }])
    assert.deepStrictEqual(summaryOf(restricted).slice(0, 2), [200, "0-0/*"])
    for (const [body, rows] of [
      [[{ note: "y" }, { note: "z" }], 2],
      [[{ note: "y" }, {}], 2],
      [[], 0]
    ] as const) {
      const refused = await on("PATCH ?id=eq.1&columns=note", body)
      assertRefused(refused, 400, "PGRST102")
      assert.include(refused.text, `an array of ${rows} objects`)
    }
    assertRefused(await on("PATCH ?id=eq.1", [{ note: "x" }, { name: "y" }]), 400, "PGRST102")
    assertRefused(await on("PATCH ?id=eq.1", [1]), 400, "PGRST102")
    assert.deepInclude((await rows())[0], { id: 1, note: "x" })
  })

  it("change no more rows than max-affected", async () => {
    const atMostOne = prefer("handling=strict", "max-affected=1")
    for (const reply of [
      await on("PATCH ?id=lt.3", { note: "x" }, atMostOne),
      await on("DELETE ?id=lt.3", undefined, atMostOne)
    ]) {
      const { details } = assertRefused(reply, 400, "PGRST124")
      assert.strictEqual(details, "The query affects 2 rows")
    }
    assert.deepStrictEqual(
      (await rows()).map(({ note }) => note),
      ["none", "none", "none"]
    )
    const one = await on("DELETE ?id=eq.3", undefined, atMostOne)
    assert.strictEqual(one.headers.get("preference-applied"), "handling=strict, max-affected=1")
    const lenient = await on("DELETE ?id=lt.3", undefined, prefer("max-affected=1"))
    assert.deepStrictEqual([lenient.status, lenient.headers.get("preference-applied")], [200, null])
  })

  it("change one row if a single row is requested", async () => {
    const accept = "application/vnd.pgrst.object+json"
    const one = await on("PATCH ?id=eq.1", { note: "x" }, { accept })
    assert.deepStrictEqual(
      [one.text, one.headers.get("content-type")],
      ['{"id":1,"name":"one","note":"x"}', `${accept}; charset=utf-8`]
    )
    assertRefused(await on("DELETE ?id=lt.3", undefined, { accept, prefer: "return=minimal" }), 406, "PGRST116")
    assert.strictEqual((await rows()).length, 3)
  })

  it("require a filter", async () => {
    assertRefused(await on("PATCH ", { note: "x" }), 400, "FILTER_REQUIRED")
    assertRefused(await on("DELETE "), 400, "FILTER_REQUIRED")
  })
})

describe("bodies", () => {
  const csv = { "content-type": "text/csv" }
  const form = { "content-type": "application/x-www-form-urlencoded" }

  it("in CSV are rows; NULL and nothing without quotes are null", async () => {
    const made = await on(
      "POST ?select=id,name,note",
      'id,name,note\r\n11,"a, ""b""",NULL\r\n12,,x\r\n14,"","NULL"\r\n',
      csv
    )
    assert.deepStrictEqual(
      [made.status, made.json],
      [
        201,
        [
          { id: 11, name: 'a, "b"', note: null },
          { id: 12, name: null, note: "x" },
          { id: 14, name: "", note: "NULL" }
        ]
      ]
    )
    assert.deepStrictEqual((await on("PATCH ?id=eq.11&select=note", "note\nc", csv)).json, [{ note: "c" }])
    assertRefused(await on("PATCH ?id=eq.11", "note\nc\nd", csv), 400, "PGRST102")
    assert.strictEqual((await on("PUT ?id=eq.13", "id,name\n13,m", csv)).status, 201)
    assert.deepStrictEqual((await on("POST ", "id,name\n", csv)).json, [])
  })

  it("in CSV are read back as they were written", async () => {
    const out = await on("GET ?order=id", undefined, { accept: "text/csv" })
    await sql(service, "truncate e2e_write")
    assert.strictEqual((await on("POST ", out.text, csv)).status, 201)
    assert.strictEqual((await on("GET ?order=id", undefined, { accept: "text/csv" })).text, out.text)
  })

  it("that grow beyond limits are rejected", async () => {
    const grown = await on("POST ", `id,name\n${",\n".repeat(3_000_000)}`, csv)
    assert.include(assertRefused(grown, 413, "PAYLOAD_TOO_LARGE")["error"], "40 MiB as JSON")
    const fields = await on("POST ", "a=1&".repeat(2000), form)
    assert.strictEqual(assertRefused(fields, 400, "PGRST102")["error"], "A form must have at most 1600 fields")
    const deep = await on("POST ", `{"note":${"[".repeat(20_000)}${"]".repeat(20_000)}}`)
    assertRefused(deep, 400, "JSON_TOO_DEEP")
  })

  it("of many megabytes are written", async () => {
    const rows = Array.from({ length: 50_000 }, (_, at) => ({
      id: 1000 + at,
      name: `näme ${at}`,
      note: "x".repeat(30)
    }))
    const minimal = { prefer: "return=minimal" }
    assert.strictEqual((await on("POST ", JSON.stringify(rows), minimal)).status, 201)
    const lines = rows.map(({ id, name, note }) => `${id + 100_000},${name},${note}`)
    assert.strictEqual((await on("POST ", `id,name,note\n${lines.join("\n")}`, { ...csv, ...minimal })).status, 201)
    const last = await on("GET ?id=in.(50999,150999)&select=name,note&order=id")
    assert.deepStrictEqual(
      last.json,
      [rows.at(-1), rows.at(-1)].map((row) => ({ name: row?.name, note: row?.note }))
    )
    await on("DELETE ?id=gte.1000", undefined, minimal)
  })

  it.each([
    ['id,name\n1,"x', "The body is not valid CSV: line 2: a quoted field does not end"],
    ["id,name\n1", "All lines must have same number of fields: line 2 has 1, the first line has 2"],
    ["id\n1,2", "All lines must have same number of fields: line 2 has more than 1, the first line has 1"],
    ["id,id\n1,2", "The body is not valid CSV: a column name is repeated"],
    ["", "The body is not valid CSV: the line with the column names is missing"]
  ])("%j is not valid CSV", async (body, error) => {
    assert.strictEqual(assertRefused(await on("POST ", body, csv), 400, "PGRST102")["error"], error)
  })

  it("from an HTML form are one row", async () => {
    const made = await on("POST ", "id=21&name=a+b%26c%3D%C3%A9&note=", form)
    assert.deepStrictEqual(made.json, [{ id: 21, name: "a b&c=é", note: "" }])
    assert.deepStrictEqual((await on("PATCH ?id=eq.21&select=name", "name=x", form)).json, [{ name: "x" }])
    assertRefused(await on("POST ", "id=%zz", form), 400, "PGRST102")
    assertRefused(await on("POST ", "nothing=1", form), 400, "PGRST204")
  })

  it("of other media types are rejected", async () => {
    for (const type of ["text/plain", "multipart/form-data; boundary=x", "a"]) {
      const reply = await on("POST ", '{"id":31}', { "content-type": type })
      assert.strictEqual(assertRefused(reply, 400, "PGRST102")["error"], `Content-Type not acceptable: ${type}`)
    }
  })
})
