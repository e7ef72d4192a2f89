import { assert, it } from "vitest"
import { type MigrationFile, type MigrationLayout } from "../../../src/domain/migrations/Migration.ts"
import { newMigrationFiles } from "../../../src/domain/migrations/NewFiles.ts"

const millis = Date.UTC(2026, 0, 2, 3, 4, 5)
const file = (name: string) => ({ name, path: `${name}.sql` }) as MigrationFile
const made = (names: ReadonlyArray<string>, sql = "select 1", layout: MigrationLayout = "plain") =>
  newMigrationFiles({ directory: "migrations", layout, files: names.map(file), notes: [] }, "own", {
    name: "new",
    sql,
    millis
  })?.map(({ path }) => path)

it("a new migration has the next number in the form of the others, or the time", () => {
  assert.deepStrictEqual(made([]), ["20260102030405_new.sql"])
  assert.deepStrictEqual(made(["init"]), ["20260102030405_new.sql"])
  assert.deepStrictEqual(made(["0001_a", "0009_b"]), ["0010_new.sql"])
  assert.deepStrictEqual(made(["1_a", "9_b"]), ["10_new.sql"])
  assert.deepStrictEqual(made(["20250101000000_a"]), ["20260102030405_new.sql"])
  // Of another machine's clock, or of the same second.
  assert.deepStrictEqual(made(["20300101000000_a"]), ["20300101000001_new.sql"])
  assert.deepStrictEqual(made(["20260102030405_a"]), ["20260102030406_new.sql"])
})

it("a line begins another file, and white space none", () => {
  assert.deepStrictEqual(
    made(["1_a"], "-- svc: new transaction\n\nselect 1;\n  -- svc: new transaction\r\nselect 2;\n\n"),
    ["2_new_1.sql", "3_new_2.sql"]
  )
  for (const inside of [
    "'\n-- svc: new transaction\n'",
    "$f$\n-- svc: new transaction\ndrop table t;\n$f$",
    "1 /*\n-- svc: new transaction\n*/"
  ]) {
    assert.deepStrictEqual(made(["1_a"], `select ${inside}; select 2`), ["2_new.sql"])
  }
})

it("the layout decides about the folder, and Drizzle writes its files itself", () => {
  assert.deepStrictEqual(made(["20250101000000_a"], "select 1", "prisma"), ["20260102030405_new/migration.sql"])
  assert.isUndefined(made(["0000_a"], "select 1", "drizzle"))
  assert.isUndefined(made(["20250101000000_a"], "select 1", "drizzle-folders"))
})
