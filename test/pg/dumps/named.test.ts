import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { type Login } from "../../../src/layers/postgres/Login.ts"
import { ask, emptyDatabase, temporaryDirectory, unprivileged } from "../../support/backups/restores.ts"
import { layerDatabase, live } from "../../support/database.ts"
import { namedCases, namedSetup } from "../../support/dumps/named.ts"
import { place } from "../../support/dumps/native.ts"
import { builtIn, type DumpWay, native } from "../../support/dumps/ways.ts"

const proofOf = (login: Login, text: string) =>
  Effect.map(ask(login, `set search_path to public, extensions; ${text}`), (rows) => rows)

/** Dumps a database with these objects, restores it as a branch's role, and returns both proofs. */
const roundTrip = Effect.fnUntraced(function* (way: DumpWay, sql: ReadonlyArray<string>, proof: string, path: string) {
  const source = yield* emptyDatabase()
  if (path !== "") yield* ask(source, `alter database ${source.database} set search_path to ${path}`)
  for (const text of sql) yield* ask(source, `set search_path to public, extensions; ${text}`)
  const file = join(yield* temporaryDirectory, "dump")
  yield* way.dump(source, file)
  const { outside, target } = yield* unprivileged
  yield* way.restore(source, file, target)
  const settled = "select count(*)::int as n from pg_proc where proowner <> 10 and proconfig is not null"
  assert.deepStrictEqual(yield* ask(outside, settled), [{ n: 0 }])
  return [yield* proofOf(source, proof), yield* proofOf(outside, proof)] as const
})

layer(layerDatabase({ name: "svc_named" }), live)("names without a schema", (it) => {
  for (const [kind, way] of [
    ["built-in", builtIn],
    ["native", native]
  ] as const) {
    for (const [what, { proof, sql }] of Object.entries(namedCases)) {
      it.effect.skipIf(way === native && place === undefined)(`${kind}: ${what}`, () =>
        Effect.gen(function* () {
          const [before, after] = yield* roundTrip(way, [...namedSetup, ...sql], proof, "public, extensions")
          assert.deepStrictEqual(after, before)
        })
      )
    }
  }
})
