import { assert, describe, it } from "@effect/vitest"
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
