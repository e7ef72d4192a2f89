import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { type Login } from "../../../src/layers/postgres/Login.ts"
import { ask, emptyDatabase, temporaryDirectory, unprivileged } from "../../support/backups/restores.ts"
import { layerDatabase, live } from "../../support/database.ts"
import { namedCases, namedSetup } from "../../support/dumps/named.ts"
import { place } from "../../support/dumps/native.ts"
import { builtIn, type DumpWay, native } from "../../support/dumps/ways.ts"

/** The cases are in one database, each in a schema of its own, which is before that of the functions in the path. */
const cases = Object.entries(namedCases).map(([what, { proof, sql }], n) => ({
  what,
  proof,
  sql,
  path: `case_${n}, public, extensions`
}))

const proofsOf = Effect.fnUntraced(function* (login: Login) {
  const proofs: Record<string, unknown> = {}
  for (const { path, proof, what } of cases) proofs[what] = yield* ask(login, `set search_path to ${path}; ${proof}`)
  return proofs
})

/** Dumps a database with the objects of all cases, restores it as a branch's role, and returns both proofs. */
const roundTrip = Effect.fnUntraced(function* (way: DumpWay) {
  const source = yield* emptyDatabase()
  yield* ask(source, `alter database ${source.database} set search_path to public, extensions`)
  for (const text of namedSetup) yield* ask(source, `set search_path to public, extensions; ${text}`)
  for (const [n, { path, sql }] of cases.entries()) {
    yield* ask(source, `create schema case_${n}`)
    for (const text of sql) yield* ask(source, `set search_path to ${path}; ${text}`)
  }
  const file = join(yield* temporaryDirectory, "dump")
  yield* way.dump(source, file)
  const { outside, target } = yield* unprivileged
  yield* way.restore(source, file, target)
  const settled = "select count(*)::int as n from pg_proc where proowner <> 10 and proconfig is not null"
  assert.deepStrictEqual(yield* ask(outside, settled), [{ n: 0 }])
  return [yield* proofsOf(source), yield* proofsOf(outside)] as const
})

layer(layerDatabase({ name: "svc_named" }), live)("names without a schema", (it) => {
  for (const [kind, way] of [
    ["built-in", builtIn],
    ["native", native]
  ] as const) {
    it.effect.skipIf(way === native && place === undefined)(`are restored: ${kind}`, () =>
      Effect.gen(function* () {
        const [before, after] = yield* roundTrip(way)
        assert.deepStrictEqual(after, before)
      })
    )
  }
})
