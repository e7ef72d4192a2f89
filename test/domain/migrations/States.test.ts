import { hash } from "node:crypto"
import { assert, describe, it } from "vitest"
import {
  type AppliedMigration,
  byName,
  drizzleMillis,
  journalEntries,
  type MigrationFile
} from "../../../src/domain/migrations/Migration.ts"
import { matchNames, matchTimes, migrationStates, summaryOf } from "../../../src/domain/migrations/States.ts"
import { recognise } from "../../../src/domain/migrations/Tools.ts"

const sum = (text: string) => hash("sha256", text)
const file = (name: string, given: Partial<MigrationFile> = {}): MigrationFile => ({
  name,
  path: `${name}.sql`,
  folder: false,
  checksum: sum(name),
  alike: [],
  when: undefined,
  problem: undefined,
  ...given
})
const row = (given: Partial<AppliedMigration>): AppliedMigration => ({
  name: null,
  when: null,
  checksum: null,
  applied_at: null,
  unfinished: false,
  error: null,
  ...given
})
const shown = (states: ReturnType<typeof migrationStates>) => states.map(({ name, status }) => `${name} ${status}`)

describe("by name", () => {
  it("distinguishes the four states", () => {
    const files = [file("a"), file("b"), file("c")]
    const rows = [
      row({ name: "a", checksum: sum("a") }),
      row({ name: "c", checksum: sum("x") }),
      row({ name: "d", checksum: sum("d") })
    ]
    const states = migrationStates(files, rows, matchNames)
    assert.deepStrictEqual(shown(states), ["a applied", "b pending", "c modified", "d orphaned"])
    assert.deepStrictEqual(summaryOf(states), { applied: 1, pending: 1, modified: 1, orphaned: 1, total: 4 })
    assert.deepInclude(states[2], { checksum: sum("c"), applied_checksum: sum("x") })
    assert.deepInclude(states[3], { checksum: sum("d") })
  })

  it("considers a file that is older than the last one pending", () => {
    assert.deepStrictEqual(
      shown(migrationStates([file("1"), file("2")], [row({ name: "2", checksum: sum("2") })], matchNames)),
      ["1 pending", "2 applied"]
    )
  })

  it("considers other line ends, and Prisma's old checksums, equal", () => {
    const bytes = "0a0b00ff" + sum("").slice(8)
    const old = bytes.replaceAll(/../g, (byte) => Number.parseInt(byte, 16).toString(16))
    const files = [file("a", { alike: [sum("other")] }), file("b", { checksum: bytes })]
    const rows = [row({ name: "a", checksum: sum("other") }), row({ name: "b", checksum: old })]
    assert.deepStrictEqual(shown(migrationStates(files, rows, matchNames)), ["a applied", "b applied"])
  })

  it("marks what Prisma started and did not finish, also beside a finished row", () => {
    const rows = [
      row({ name: "a", unfinished: true }),
      row({ name: "a", checksum: sum("a") }),
      row({ name: "z", unfinished: true })
    ]
    const [first, last] = migrationStates([file("a")], rows, matchNames)
    assert.deepInclude(first, { status: "applied", unfinished: true })
    assert.deepInclude(last, { status: "orphaned", unfinished: true })
  })
})

describe("by time", () => {
  const drizzle = (name: string, when: number, given: Partial<MigrationFile> = {}) => file(name, { when, ...given })
  const at = (when: number, checksum: string | null, name: string | null = null) => row({ when, checksum, name })

  it("considers an older file that was added late pending", () => {
    const files = [drizzle("0", 100), drizzle("1", 150), drizzle("2", 200)]
    const rows = [at(100, sum("0")), at(200, sum("2"))]
    assert.deepStrictEqual(shown(migrationStates(files, rows, matchTimes)), ["0 applied", "1 pending", "2 applied"])
  })

  it("compares the hash of the file of that time", () => {
    const states = migrationStates([drizzle("0", 100)], [at(100, sum("x")), at(50, sum("y"))], matchTimes)
    assert.deepStrictEqual(shown(states), ["0 modified", "50 orphaned"])
  })

  it("recognises a file whose time was rewritten by its content, and joins two rows of one file", () => {
    assert.deepStrictEqual(shown(migrationStates([drizzle("0", 100)], [at(90, sum("0"))], matchTimes)), ["0 applied"])
    assert.deepStrictEqual(
      shown(migrationStates([drizzle("0", 100)], [at(100, sum("0")), at(100, sum("0"))], matchTimes)),
      ["0 applied"]
    )
  })

  it("does not confuse a new file with an old one of the same content", () => {
    const files = [drizzle("0", 100, { checksum: sum("") }), drizzle("1", 200, { checksum: sum("") })]
    assert.deepStrictEqual(shown(migrationStates(files, [at(100, sum(""))], matchTimes)), ["0 applied", "1 pending"])
  })

  it("distinguishes two of the same time by their content", () => {
    const files = [drizzle("0", 100), drizzle("1", 100)]
    assert.deepStrictEqual(shown(migrationStates(files, [at(100, sum("1"))], matchTimes)), ["0 pending", "1 applied"])
  })

  it("matches by name in a table of Drizzle 1.0, by the second where it was upgraded", () => {
    const folder = { folder: true }
    const files = [drizzle("a", 5000, folder), drizzle("b", 6000, folder)]
    assert.deepStrictEqual(shown(migrationStates(files, [at(1, sum("a"), "a"), at(6000, sum("x"), "b")], matchTimes)), [
      "a applied",
      "b modified"
    ])
    assert.deepStrictEqual(shown(migrationStates(files, [at(5123, sum("x"))], matchTimes)), ["a modified", "b pending"])
  })

  it("marks a migration without a file as orphaned, with its name", () => {
    const withoutFile = drizzle("0", 100, { checksum: null, missing: true, problem: "the file is missing" })
    assert.deepStrictEqual(shown(migrationStates([withoutFile], [at(100, sum("0"))], matchTimes)), ["0 orphaned"])
    assert.deepStrictEqual(shown(migrationStates([withoutFile], [], matchTimes)), ["0 pending"])
  })
})

it("orders by leading number, then by name", () => {
  assert.deepStrictEqual(["10_a", "b", "9_a", "010_b", "2", "a", "20260101000000_x", "099"].sort(byName), [
    "2",
    "9_a",
    "010_b",
    "10_a",
    "099",
    "20260101000000_x",
    "a",
    "b"
  ])
})

it("reads Drizzle's journal and the times of its folders", () => {
  assert.deepStrictEqual(journalEntries(`{"entries":[{"idx":0,"when":5,"tag":"a","breakpoints":true}]}`), [
    { when: 5, tag: "a" }
  ])
  for (const text of ["", "[]", "{}", `{"entries":[{"tag":"a"}]}`, `{"entries":[{"tag":1,"when":1}]}`]) {
    assert.isUndefined(journalEntries(text), text)
  }
  assert.strictEqual(drizzleMillis("20261121171549_init"), 1795281349000)
  assert.isUndefined(drizzleMillis("0000_init"))
})

describe("recognise", () => {
  const tool = (name: string, columns: string, schema = "public", others: ReadonlyArray<string> = []) =>
    recognise([
      { schema, name, columns: columns.split(" ") },
      ...others.map((other) => ({ schema, name: other, columns: ["key", "value"] }))
    ]).map((table) => table.tool)

  it.each([
    ["__drizzle_migrations", "id hash created_at", ["drizzle"]],
    ["my_migrations", "id hash created_at name applied_at", ["drizzle"]],
    ["my_migrations", "id hash created_at note", []],
    ["_prisma_migrations", "id checksum finished_at migration_name logs", ["prisma"]],
    ["knex_migrations", "id name batch migration_time", ["knex"]],
    ["flyway_schema_history", "installed_rank version script", ["flyway"]],
    ["schema_migrations", "version dirty", ["golang-migrate"]],
    ["schema_migrations", "version inserted_at", ["ecto"]],
    ["schema_migrations", "version", ["dbmate"]],
    ["SequelizeMeta", "name", ["sequelize"]],
    ["migrations", "id timestamp name", ["typeorm"]],
    ["migrations", "id migration batch", ["laravel"]],
    ["migrations", "id what", []],
    ["django_migrations", "id app name applied", ["django"]]
  ])("%s (%s)", (name, columns, tools) => {
    assert.deepStrictEqual(tool(name, columns), tools)
  })

  it("detects Rails by its second table", () => {
    assert.deepStrictEqual(tool("schema_migrations", "version", "public", ["ar_internal_metadata"]), ["rails"])
    assert.deepStrictEqual(tool("schema_migrations", "version statements name", "supabase_migrations"), ["supabase"])
  })
})
