import { afterAll, assert, beforeAll, it } from "vitest"
import type { Catalogue, Table } from "../../../dashboard/src/catalogue/queries.ts"
import { problemOf, written } from "../../../dashboard/src/tables/grid/checks.ts"
import { editText, valueShown } from "../../../dashboard/src/tables/grid/values.ts"
import type { Edits } from "../../../dashboard/src/tables/rows/edits.ts"
import { rowId } from "../../../dashboard/src/tables/rows/identity.ts"
import { reviewSql, saveStatements } from "../../../dashboard/src/tables/rows/statements.ts"
import { parseRows } from "../../../dashboard/src/wire/exact.ts"
import { ask, sql } from "../../support/client.ts"
import { type InProcessService, serveInProcess } from "../../support/inProcess.ts"

let service: InProcessService
beforeAll(async () => {
  service = await serveInProcess({})
  for (const text of [
    `create type mood as enum ('calm', 'it''s "odd"', 'a,b')`,
    "create type place as (street text, at timestamptz, tags text[])",
    "create domain percent as numeric(5, 2) check (value between 0 and 100)",
    "create domain document as jsonb",
    "create domain names as text[]"
  ])
    await sql(service, text)
})
afterAll(() => service[Symbol.asyncDispose]())

/** Values of each type, as PostgreSQL reads them. */
const examples: Readonly<Record<string, ReadonlyArray<string>>> = {
  smallint: ["-32768", "7"],
  integer: ["2147483647", "-1"],
  bigint: ["9223372036854775807", "-9007199254740993"],
  "numeric(38,18)": ["12345678901234567890.123456789012345678", "0.1"],
  numeric: ["NaN", "1.10", "Infinity", "-0.000"],
  real: ["3.4e38", "NaN", "0.1"],
  "double precision": ["1e-300", "-Infinity", "0.30000000000000004"],
  money: ["$1,234.50"],
  boolean: ["true", "false"],
  text: ["", " a\n\"b\" 'c' \\ 🙂 ", "{not an array}", "[1]", "null", "NULL"],
  "character varying(5)": ["abc", "🙂🙂🙂🙂🙂"],
  "character(5)": ["ab"],
  name: ["public"],
  '"char"': ["x"],
  bytea: ["\\x", "\\xdeadbeef00", "\\x5c27"],
  date: ["2026-06-15", "0044-03-15 BC", "infinity", "2024-02-29"],
  "time without time zone": ["24:00:00", "12:34:56.789"],
  "time with time zone": ["12:34:56+05:30"],
  "timestamp without time zone": ["2026-06-15 14:10:00.000001", "-infinity", "0001-01-01 00:00:00 BC"],
  "timestamp with time zone": [
    "2026-06-15 14:10:00.5+00",
    "infinity",
    "0044-03-15 12:00:00+00 BC",
    "12026-01-01 00:00:00+00"
  ],
  interval: ["1 year 2 mons -3 days +04:05:06.7", "00:00:00"],
  uuid: ["0b0e7a5e-0000-4000-8000-000000000000"],
  json: ['{"b": 1, "a": [1.10, null, 9007199254740993]}', '"text"', "1.10", "[]", '"1.10"', "true"],
  jsonb: ['{"a": {"b": [1.10, null]}}', '"text"', "1.10", '"1.10"', "false", "[[1], [2, 3]]", '""'],
  jsonpath: ['$."a"'],
  xml: ["<a>1</a>"],
  inet: ["10.0.0.0/8", "::1", "192.168.1.5"],
  cidr: ["10.0.0.0/8", "2001:db8::/32"],
  macaddr: ["08:00:2b:01:02:03"],
  macaddr8: ["08:00:2b:01:02:03:04:05"],
  "bit(4)": ["1010"],
  "bit varying": ["10101", ""],
  point: ["(1,2.5)"],
  line: ["{1,2,3}"],
  lseg: ["[(1,2),(3,4)]"],
  box: ["(3,4),(1,2)"],
  path: ["((1,2),(3,4))", "[(1,2),(3,4)]"],
  polygon: ["((1,2),(3,4),(5,6))"],
  circle: ["<(1,2),3>"],
  tsvector: ["'a':1 'b''c':2A"],
  tsquery: ["'a' & !'b'"],
  pg_lsn: ["16/B374D848"],
  txid_snapshot: ["10:20:10,14,15"],
  oid: ["4294967295"],
  regclass: ["pg_class"],
  int4range: ["[1,10)", "empty", "(,)"],
  numrange: ["[1.10,2.20]"],
  tstzrange: ['["2026-01-01 00:00:00+00",)'],
  daterange: ["[2026-01-01,2026-02-01)"],
  int8multirange: ["{[1,3),[5,9)}", "{}"],
  mood: ["calm", 'it\'s "odd"', "a,b"],
  percent: ["99.50"],
  document: ['{"a": [1.10]}', "[1, 2]"],
  names: ['{a,"b c",NULL}'],
  place: ['("Main St, ""1""","2026-06-15 14:10:00+00","{a,""b c""}")', "(,,)"],
  "place[]": ['{"(a,,)","(,\\"2026-06-15 14:10:00+00\\",\\"{x}\\")"}'],
  "text[]": ["{}", '{a,"b,c","d\\"e","f\\\\g","",NULL,"NULL","{}"," x "}', "{{a,b},{c,NULL}}"],
  "integer[]": ["{1,NULL,-3}", "{{{1,2}},{{3,4}}}"],
  "bigint[]": ["{9223372036854775807}"],
  "numeric[]": ["{1.10,NaN,12345678901234567890.5}"],
  "double precision[]": ["{0.1,Infinity}"],
  "boolean[]": ["{t,f,NULL}"],
  "timestamp with time zone[]": ['{"2026-06-15 14:10:00+00",infinity}'],
  "date[]": ["{2026-06-15,NULL}"],
  "uuid[]": ["{0b0e7a5e-0000-4000-8000-000000000000}"],
  "bytea[]": ['{"\\\\xdead"}'],
  "jsonb[]": ['{"{\\"a\\": 1.10}","[1, 2]","\\"x\\"",NULL,"3"}'],
  "json[]": ['{"[1]","[2, 3]"}'],
  "inet[]": ["{10.0.0.1}"],
  "int4range[]": ['{"[1,3)",empty}'],
  "mood[]": ['{"a,b","it\'s \\"odd\\""}'],
  "interval[]": ["{01:00:00}"]
}

const tableOf = async (name: string): Promise<Table> => {
  const { json } = await ask(service, "GET /v1/database/schema", { key: service.service_role })
  const found = (json as Catalogue).tables.find((table) => table.name === name)
  assert.isDefined(found)
  return found as Table
}

it("of every type is edited as it is shown, saved as it was, and written so in the review", async () => {
  const failures: Array<string> = []
  let number = 0
  for (const [type, values] of Object.entries(examples)) {
    const name = `shown_${++number}`
    await sql(service, `create table ${name} (id int primary key, "odd ""name" ${type})`)
    for (const [at, value] of values.entries())
      await sql(service, `insert into ${name} select $1, cast($2::text as ${type})`, [at, value])
    await sql(service, `insert into ${name} select id + 100, null from ${name}`)
  }
  const { json } = await ask(service, "GET /v1/database/schema", { key: service.service_role })
  const { tables } = json as Catalogue
  number = 0
  for (const type of Object.keys(examples)) {
    const name = `shown_${++number}`
    const table = tables.find((one) => one.name === name)
    const column = table?.columns[1]
    if (table === undefined || column === undefined) throw new Error(type)
    const { text } = await ask(service, `GET /v1/db/${name}?order=id`, { key: service.service_role })
    const isJson = column.type === "json" || column.type === "jsonb"
    const rows = parseRows(text, new Set(isJson ? [column.name] : [])) as ReadonlyArray<Record<string, unknown>>
    // Spaces within `json` are no part of its value.
    const asText =
      type.startsWith("json") && type !== "jsonpath" ? `to_jsonb("odd ""name")::text` : `"odd ""name"::text`
    const whole = `select id, ${asText} as v from ${name} order by id`
    const before = await sql(service, whole)
    const half = rows.length / 2
    const edits = (of: ReadonlyArray<Record<string, unknown>>): Edits =>
      new Map(
        of.map((row) => {
          const shown = rows[(row["id"] as number) % 100]?.[column.name]
          const typed = editText(shown, column.type)
          if (!isJson) assert.strictEqual(typed, valueShown(shown, column.type))
          const result = written(typed, column, row[column.name] ?? shown)
          if ("problem" in result) throw new Error(`${type}: ${typed}: ${result.problem}`)
          return [rowId(table, row), { row, values: { [column.name]: result.value } }]
        })
      )
    const run = async (what: string, statements: ReadonlyArray<{ readonly sql: string }>) => {
      const reply = await ask(service, "POST /v1/sql/transaction", { key: service.service_role, body: { statements } })
      if (reply.status !== 200) failures.push(`${type}, ${what}: ${reply.text.slice(0, 300)}`)
    }
    const check = async (what: string) => {
      const now = await sql(service, whole)
      for (const [at, { v }] of now.slice(0, half).entries())
        if (v !== before[at]?.["v"]) failures.push(`${type}, ${what}: ${String(before[at]?.["v"])} became ${String(v)}`)
      return now.slice(half)
    }
    // Over itself, and over NULL.
    await run("over itself", saveStatements(table, edits(rows.slice(0, half))))
    await check("over itself")
    await run("over NULL", saveStatements(table, edits(rows.slice(half))))
    const copies = await check("over NULL")
    for (const [at, { v }] of copies.entries())
      if (v !== before[at]?.["v"] && !(v === null && before[at]?.["v"] === ""))
        failures.push(`${type}, over NULL: ${String(before[at]?.["v"])} became ${String(v)}`)
    // The review's text, which is shown, does the same.
    await sql(service, `update ${name} set "odd ""name" = null where id < 100`)
    await run(
      "review",
      reviewSql(table, edits(rows.slice(0, half)), true)
        .split(/;(?:\n\n|$)/)
        .filter(Boolean)
        .map((one) => ({ sql: one }))
    )
    await check("review")
  }
  assert.deepStrictEqual(failures, [])
}, 120_000)

it("is refused in the cell only if PostgreSQL refuses it", async () => {
  const table = await tableOf("shown_1")
  assert.isDefined(table)
  const texts = [
    ...Object.values(examples).flat(),
    "1_000",
    "0x1F",
    "0o17",
    "0b11",
    "0x_1F",
    "1__0",
    "1_",
    "+5",
    " 7 ",
    "007",
    "1.",
    ".5",
    "1e5",
    "1e",
    "--1",
    "٣",
    "1,000",
    "NaN",
    "-inf",
    "+Infinity",
    "32768",
    "-32768",
    "-32769",
    "2147483648",
    "-2147483648",
    "9223372036854775808",
    "-9223372036854775808",
    "-0x8000",
    "2023-02-29",
    "2024-2-29",
    "2026-13-01",
    "2026-00-10",
    "2026-01-00",
    "2026-01-32",
    "0000-01-01",
    "0001-02-29 BC",
    "0004-02-29 BC",
    "today",
    "now",
    "yesterday",
    "tomorrow",
    "epoch",
    "allballs",
    "J2451187",
    "June 5, 2026",
    "20260615",
    "15.06.2026",
    "1/2/2026",
    "2026.166",
    "2026-166",
    "abc",
    "",
    "2026-06-15 24:00",
    "2026-06-15 24:00:01",
    "2026-06-15 25:00",
    "2026-06-15 14:60",
    "2026-06-15 14:10:60",
    "2026-06-15T14:10Z",
    "2026-06-15 14:10 America/New_York",
    "2026-06-15 2:10 PM",
    "2026-06-15 13:10 PM",
    "today 12:00",
    "tomorrow 24:00",
    "12:00",
    "12:60",
    "2:30 PM",
    "040506",
    "04:05:06.789-8",
    "1 day",
    "P1Y2M",
    "forever",
    "5",
    "1.5 hours",
    "{0b0e7a5e-0000-4000-8000-000000000000}",
    "0B0E7A5E000040008000000000000000",
    "0b0e-7a5e-0000-4000-8000-0000-0000-0000",
    "0b0e7a5e-0000-4000-8000-00000000000",
    "0b0e7a5-e0000-4000-8000-000000000000",
    "256.1.1.1",
    "10.1",
    "10",
    "1.2.3.4/33",
    "::ffff:1.2.3.4",
    "1.2.3.4/",
    "fe80::1%eth0",
    "\\xabc",
    "\\x ab cd",
    "\\xAB",
    "abc\\\\",
    "\\001",
    "t",
    "yes",
    "of",
    "on",
    "o",
    "TRUE",
    " f ",
    "2",
    "abc   ",
    "abcdef",
    "abcde ",
    "abcdefgh"
  ]
  const types = [
    "smallint",
    "integer",
    "bigint",
    "numeric",
    "real",
    "double precision",
    "date",
    "time without time zone",
    "time with time zone",
    "timestamp without time zone",
    "timestamp with time zone",
    "interval",
    "uuid",
    "inet",
    "cidr",
    "bytea",
    "boolean",
    "character varying(5)",
    "character(5)",
    "text"
  ]
  const accepted = new Map<string, boolean>()
  for (const type of types) {
    // A varchar(n) cast cuts, and an assignment does not.
    const rows = await sql(service, "select x as text, pg_input_is_valid(x, $2) as valid from unnest($1::text[]) x", [
      texts,
      type
    ])
    for (const { text, valid } of rows) accepted.set(`${type} ${String(text)}`, valid as boolean)
  }
  const wrong = types.flatMap((type) =>
    texts
      .filter((text) => problemOf(type, text) !== undefined && accepted.get(`${type} ${text}`) === true)
      .map((text) => `${type}: ${JSON.stringify(text)}`)
  )
  assert.deepStrictEqual(wrong, [])
})
