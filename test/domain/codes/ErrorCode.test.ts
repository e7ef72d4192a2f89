import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { assert, describe, it } from "vitest"
import { serviceCodes } from "../../../scripts/docs.ts"
import { postgrestCodes } from "../../../src/domain/codes/PostgrestCodes.ts"
import { type ClientError, Conflict, DatabaseError } from "../../../src/domain/errors.ts"

const root = resolve(import.meta.dirname, "../../../src")
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !file.startsWith(join("domain", "codes")))
  .map((file) => readFileSync(join(root, file), "utf8"))
const used = new Set(sources.flatMap((text) => Array.from(text.matchAll(/"(\w+)"/g), ([, code = ""]) => code)))

const tables = [...Object.values(serviceCodes), postgrestCodes]

it.each(tables.flatMap((codes) => Object.keys(codes)))("%s is used", (code) => {
  assert.isTrue(used.has(code))
})

it("each code is in one table", () => {
  const all = tables.flatMap((codes) => Object.keys(codes))
  assert.strictEqual(new Set(all).size, all.length)
})

describe("the compiler refuses", () => {
  it("a misspelt code", () => {
    // @ts-expect-error
    assert.strictEqual(new Conflict({ error: "taken", code: "ADDRES_TAKEN" })._tag, "Conflict")
    // @ts-expect-error
    assert.strictEqual(new DatabaseError({ error: "taken", code: "PGRST999", status: 400 })._tag, "DatabaseError")
  })

  it("a comparison with one", () => {
    const error: ClientError = new Conflict({ error: "taken", code: "ADDRESS_TAKEN" })
    // @ts-expect-error
    assert.isFalse(error.code === "ADDRES_TAKEN")
    // @ts-expect-error
    assert.isFalse((error as ClientError).code === "bad_jwtt")
    assert.isTrue(error.code === "ADDRESS_TAKEN")
  })
})
