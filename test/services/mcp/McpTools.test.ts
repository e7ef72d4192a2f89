import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { Branches } from "../../../src/services/branches/Branches.ts"
import { Catalogues } from "../../../src/services/catalogue/Catalogues.ts"
import { McpTools } from "../../../src/services/mcp/McpTools.ts"
import { McpSettings } from "../../../src/services/mcp/Settings.ts"
import { type Database, Db } from "../../../src/services/ports/Db.ts"
import { DocFiles } from "../../../src/services/ports/DocFiles.ts"
import { Rows } from "../../../src/services/rows/Rows.ts"
import { ExposedSchemas } from "../../../src/services/catalogue/ExposedSchemas.ts"
import { DatabaseSchemas } from "../../../src/services/schema/DatabaseSchemas.ts"
import { SqlRunner } from "../../../src/services/sql/SqlRunner.ts"

const main = { name: "main" } as Database
const branch = (id: number, label: string) => ({ id, label, connection: "postgres://u:secret@h/db" }) as Branch

const layer = (mode: McpSettings["Service"]["mode"], ran: Array<string> = [], branches: ReadonlyArray<Branch> = []) =>
  McpTools.layer.pipe(
    Layer.provide(
      Layer.mergeAll(
        Layer.succeed(McpSettings, { mode }),
        Layer.succeed(DocFiles, { read: Effect.succeed(new Map()) }),
        Layer.mock(Branches, {
          list: Effect.succeed(branches),
          create: ({ label }) => Effect.succeed(branch(9, label)),
          database: (id) => Effect.succeed({ name: `branch ${id}` } as Database),
          find: (id) => Effect.succeed(branches.find((one) => one.id === id) ?? branch(id, "of others")),
          remove: (id) => Effect.sync(() => void ran.push(`drop ${id}`))
        }),
        Layer.mock(Catalogues, { changed: () => Effect.void, epoch: () => undefined }),
        Layer.mock(Db, { main, branch: () => main }),
        Layer.mock(Rows, {}),
        Layer.succeed(ExposedSchemas, {} as ExposedSchemas["Service"]),
        Layer.mock(DatabaseSchemas, {}),
        Layer.mock(SqlRunner, {
          run: (database, _actor, { read_only }) =>
            Effect.sync(() => {
              ran.push(`${database.name} ${read_only === true ? "reads" : "writes"}`)
              return { json: "{}", counts: [null], commands: ["CREATE TABLE"] }
            })
        })
      )
    )
  )

const admin = {
  actor: { role: "service_role", claims: "", sub: "" },
  author: { type: "key", id: 1, label: "" }
} as const
const anon = { actor: { role: "anon", claims: "", sub: "" }, author: { type: "key", id: 2, label: "" } } as const

const names = (tools: McpTools["Service"], caller: typeof admin | typeof anon) =>
  tools.toolsOf(caller).map(({ name }) => name)

const call = (tools: McpTools["Service"], name: string, input: unknown, caller: typeof admin | typeof anon = admin) => {
  const found = tools.toolsOf(admin).find((tool) => tool.name === name)
  return found === undefined ? Effect.die(name) : found.run(caller, input)
}

const write = { sql: "create table t ()", read_only: false }

it.effect("has no tools unless it is on", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(names(yield* McpTools, admin), [])
  }).pipe(Effect.provide(layer("off")))
)

it.effect("read: nothing is written, and branches are listed only", () => {
  const ran: Array<string> = []
  return Effect.gen(function* () {
    const tools = yield* McpTools
    assert.notIncludeMembers(names(tools, admin), ["create_branch", "drop_branch"])
    for (const input of [write, { ...write, branch: 1 }]) {
      assert.strictEqual((yield* Effect.flip(call(tools, "run_sql", input))).code, "MCP_READ_ONLY")
    }
    assert.deepStrictEqual(ran, [])
  }).pipe(Effect.provide(layer("read", ran, [branch(1, "mcp: own")])))
})

it.effect("branches: only those of create_branch are written to, and dropped", () => {
  const ran: Array<string> = []
  return Effect.gen(function* () {
    const tools = yield* McpTools
    for (const input of [write, { ...write, branch: 2 }]) {
      assert.strictEqual((yield* Effect.flip(call(tools, "run_sql", input))).code, "MCP_READ_ONLY")
    }
    yield* call(tools, "run_sql", { ...write, branch: 1 })
    assert.strictEqual((yield* Effect.flip(call(tools, "drop_branch", { branch: 2 }))).code, "MCP_NOT_OWN")
    yield* call(tools, "drop_branch", { branch: 1 })
    assert.deepStrictEqual(ran, ["branch 1 writes", "drop 1"])
  }).pipe(Effect.provide(layer("branches", ran, [branch(1, "mcp: own")])))
})

it.effect("write: the main database is written to", () => {
  const ran: Array<string> = []
  return Effect.gen(function* () {
    yield* call(yield* McpTools, "run_sql", write)
    assert.deepStrictEqual(ran, ["main writes"])
  }).pipe(Effect.provide(layer("write", ran)))
})

it.effect("at most five branches are made, and none shows its connection", () =>
  Effect.gen(function* () {
    const few = Array.from({ length: 4 }, (_, i) => branch(i + 1, "mcp: x"))
    const make = Effect.flatMap(McpTools, (tools) => call(tools, "create_branch", { label: "x" }))
    assert.notInclude(yield* Effect.provide(make, layer("branches", [], few)), "secret")
    const full = Effect.provide(make, layer("branches", [], [...few, branch(5, "mcp: y")]))
    assert.strictEqual((yield* Effect.flip(full)).code, "MCP_BRANCH_LIMIT")
  })
)

it.effect("tools for the service role check the role themselves", () =>
  Effect.gen(function* () {
    const tools = yield* McpTools
    for (const { name, serviceRole } of tools.toolsOf(admin)) {
      if (!serviceRole) continue
      const input = { sql: "select 1", label: "x", branch: 1 }
      assert.strictEqual((yield* Effect.flip(call(tools, name, input, anon)))._tag, "Forbidden", name)
    }
    assert.isTrue(names(tools, anon).every((name) => !["run_sql", "explain", "list_branches"].includes(name)))
  }).pipe(Effect.provide(layer("write")))
)
