import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { distinctNames, resultJson, unknownTypes } from "../../../src/domain/sql/Result.ts"
import { builtinTypes, type SqlType, typeOfRow } from "../../../src/domain/sql/Types.ts"

const oidOf = (name: string) => {
  for (const [oid, type] of builtinTypes) if (type.name === name) return oid
  throw new Error(name)
}

/** The JSON text of one value. */
const valueJson = (oid: number, text: string | null, types: ReadonlyMap<number, SqlType> = new Map()) => {
  const raw = { command: "SELECT", rowCount: 1, fields: [{ name: "v", oid }], rows: [[text]], truncated: false }
  return /^\{"rows":\[\{"v":([^]*)\}\],"rowCount":1,/.exec(resultJson(raw, types) ?? "")?.[1]
}

describe("values", () => {
  const cases: ReadonlyArray<readonly [type: string, text: string, json: string]> = [
    ["boolean", "t", "true"],
    ["boolean", "f", "false"],
    ["smallint", "-32768", "-32768"],
    ["integer", "2147483647", "2147483647"],
    ["oid", "4294967295", "4294967295"],
    ["bigint", "9007199254740993", '"9007199254740993"'],
    ["numeric", "1.10", '"1.10"'],
    ["numeric", "NaN", '"NaN"'],
    ["real", "0.1", "0.1"],
    ["real", "1e-07", "1e-07"],
    ["double precision", "1e+20", "1e+20"],
    ["double precision", "-0", "-0"],
    ["double precision", "NaN", '"NaN"'],
    ["double precision", "Infinity", '"Infinity"'],
    ["double precision", "-Infinity", '"-Infinity"'],
    ["json", '{"a": 12345678901234567890.10,\n "a": [ ]}', '{"a": 12345678901234567890.10,\n "a": [ ]}'],
    ["jsonb", "null", "null"],
    ["text", 'say "é"\n\u0001🙂', '"say \\"é\\"\\n\\u0001🙂"'],
    ["text", "", '""'],
    ["bytea", "\\x00ff", '"\\\\x00ff"'],
    ["timestamp with time zone", "2026-01-01 10:00:00.123456+00", '"2026-01-01T10:00:00.123456+00:00"'],
    ["timestamp with time zone", "2026-01-01 10:00:00+05:30", '"2026-01-01T10:00:00+05:30"'],
    ["timestamp with time zone", "2026-01-01 10:00:00-02", '"2026-01-01T10:00:00-02:00"'],
    ["timestamp with time zone", "1900-01-01 00:00:00+00:19:32", '"1900-01-01T00:00:00+00:19:32"'],
    ["timestamp with time zone", "0044-03-15 10:00:00+00 BC", '"-000043-03-15T10:00:00+00:00"'],
    ["timestamp with time zone", "0001-03-15 10:00:00+00 BC", '"0000-03-15T10:00:00+00:00"'],
    ["timestamp with time zone", "12026-01-01 10:00:00+00", '"+012026-01-01T10:00:00+00:00"'],
    ["timestamp with time zone", "294276-12-31 23:59:59.999999+00", '"+294276-12-31T23:59:59.999999+00:00"'],
    ["timestamp with time zone", "infinity", '"infinity"'],
    ["timestamp with time zone", "-infinity", '"-infinity"'],
    ["timestamp with time zone", "Thu Jan 01 10:00:00 2026 UTC", '"Thu Jan 01 10:00:00 2026 UTC"'],
    ["timestamp without time zone", "2026-01-01 10:00:00", '"2026-01-01 10:00:00"'],
    ["date", "2026-01-01", '"2026-01-01"'],
    ["interval", "1 day -00:00:01", '"1 day -00:00:01"'],
    ["point", "(1,2)", '"(1,2)"'],
    ["int4range", "[1,5)", '"[1,5)"'],
    ["money", "$1.00", '"$1.00"'],
    ["int2vector", "1 2", '"1 2"'],
    ["integer[]", "{}", "[]"],
    ["integer[]", "{1,NULL,-3}", "[1,null,-3]"],
    ["integer[]", "{{1,2},{3,NULL}}", "[[1,2],[3,null]]"],
    ["integer[]", "[0:1]={1,2}", "[1,2]"],
    ["integer[]", "[0:1][-1:0]={{1,2},{3,4}}", "[[1,2],[3,4]]"],
    ["bigint[]", "{1,NULL}", '["1",null]'],
    ["boolean[]", "{t,f,NULL}", "[true,false,null]"],
    ["double precision[]", "{1.5,NaN,Infinity}", '[1.5,"NaN","Infinity"]'],
    [
      "text[]",
      '{a,"NULL",NULL,"","a b","{x}","\\"q\\"","\\\\","a,b",null}',
      '["a","NULL",null,"","a b","{x}","\\"q\\"","\\\\","a,b","null"]'
    ],
    ["jsonb[]", '{"{\\"a\\": [1, \\"x\\"]}",1,NULL}', '[{"a": [1, "x"]},1,null]'],
    ["timestamp with time zone[]", '{"2026-01-01 10:00:00+00"}', '["2026-01-01T10:00:00+00:00"]'],
    ["box[]", "{(2,2),(1,1);(4,4),(3,3);NULL}", '["(2,2),(1,1)","(4,4),(3,3)",null]'],
    ["int4range[]", '{"[1,5)","empty"}', '["[1,5)","empty"]']
  ]
  it.each(cases)("%s %s is %s", (type, text, json) => {
    assert.strictEqual(valueJson(oidOf(type), text), json)
    JSON.parse(json)
  })

  it("are null for null of any type", () => {
    for (const oid of builtinTypes.keys()) assert.strictEqual(valueJson(oid, null), "null")
  })

  it("parse any array of texts", () => {
    const element = fc.option(fc.string({ unit: "binary" }), { nil: null })
    const printed = (values: ReadonlyArray<string | null>) =>
      `{${values.map((value) => (value === null ? "NULL" : `"${value.replaceAll(/["\\]/g, "\\$&")}"`)).join(",")}}`
    fc.assert(
      fc.property(fc.array(element), (values) =>
        assert.deepStrictEqual(JSON.parse(valueJson(1009, printed(values)) ?? ""), values)
      )
    )
  })
})

describe("user-defined types", () => {
  const types = new Map([
    typeOfRow(["90001", "mood", null, ",", null]),
    typeOfRow(["90002", "mood[]", "90001", ",", null]),
    typeOfRow(["90003", "ints", "23", ",", "1007"]),
    typeOfRow(["90004", "ints[]", "90003", ",", null])
  ])
  it("keep their names, and their values as PostgreSQL prints them", () =>
    assert.strictEqual(valueJson(90001, "so so", types), '"so so"'))
  it("make arrays", () => assert.strictEqual(valueJson(90002, '{"so so",ok}', types), '["so so","ok"]'))
  it("domains over arrays make arrays of arrays", () =>
    assert.strictEqual(valueJson(90004, '{"{1,2}",NULL}', types), "[[1,2],null]"))
  it("are looked up once each if unknown", () => {
    const fields = [90001, 23, 90009, 90009].map((oid) => ({ name: "x", oid }))
    assert.deepStrictEqual(unknownTypes(fields, types), [90009])
  })
})

describe("results", () => {
  it("have all documented fields", () => {
    const json = resultJson(
      {
        command: "SELECT",
        rowCount: 2,
        fields: [
          { name: "id", oid: 23 },
          { name: "tags", oid: 1009 }
        ],
        rows: [
          ["1", "{a}"],
          ["2", null]
        ],
        truncated: true
      },
      new Map()
    )
    assert.deepStrictEqual(JSON.parse(json ?? ""), {
      rows: [
        { id: 1, tags: ["a"] },
        { id: 2, tags: null }
      ],
      rowCount: 2,
      columns: [
        { name: "id", type: "integer", oid: 23 },
        { name: "tags", type: "text[]", oid: 1009 }
      ],
      command: "SELECT",
      truncated: true
    })
  })

  it("have no count for commands without rows", () =>
    assert.strictEqual(
      resultJson({ command: "CREATE TABLE", rowCount: null, fields: [], rows: [], truncated: false }, new Map()),
      '{"rows":[],"rowCount":null,"columns":[],"command":"CREATE TABLE","truncated":false}'
    ))

  it("are empty objects for rows without columns", () =>
    assert.include(
      resultJson({ command: "SELECT", rowCount: 2, fields: [], rows: [[], []], truncated: false }, new Map()),
      '"rows":[{},{}]'
    ))

  it("keep a column named __proto__", () => {
    const fields = [{ name: "__proto__", oid: 23 }]
    const json = resultJson({ command: "SELECT", rowCount: 1, fields, rows: [["1"]], truncated: false }, new Map())
    assert.include(json, '"rows":[{"__proto__":1}]')
  })
})

describe("distinctNames", () => {
  it.each([
    [
      ["a", "b", "a", "a"],
      ["a", "b", "a_2", "a_3"]
    ],
    [
      ["a", "a", "a_2"],
      ["a", "a_3", "a_2"]
    ],
    [
      ["", "", "?column?", "?column?"],
      ["", "_2", "?column?", "?column?_2"]
    ],
    [
      ["__proto__", "__proto__"],
      ["__proto__", "__proto___2"]
    ]
  ])("%j are %j", (names, expected) => assert.deepStrictEqual(distinctNames(names), expected))

  it("makes names unique, and keeps the first", () => {
    const name = fc.constantFrom("a", "a_2", "a_3", "a_2_2", "b", "")
    fc.assert(
      fc.property(fc.array(name), (names) => {
        const distinct = distinctNames(names)
        assert.strictEqual(new Set(distinct).size, names.length)
        names.forEach((name, i) => {
          if (names.indexOf(name) === i) assert.strictEqual(distinct[i], name)
        })
      })
    )
  })
})
