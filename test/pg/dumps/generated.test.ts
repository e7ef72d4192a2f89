import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { contentDifferences } from "../../../src/domain/dumps/Contents.ts"
import { ask, emptyDatabase, temporaryDirectory, unprivileged } from "../../support/backups/restores.ts"
import { layerDatabase, live } from "../../support/database.ts"
import { generatedSql } from "../../support/dumps/generated.ts"
import { builtIn, native, type DumpWay } from "../../support/dumps/ways.ts"
import { place } from "../../support/dumps/native.ts"

/** More schemas than in CI, by hand. */
const more = Number(process.env["SVC_TEST_SCHEMAS"] ?? 0)

const path = "set search_path to public, extensions;"

/** What the restored database has otherwise than its source, by the dumps of both. */
const differences = Effect.fnUntraced(function* (way: DumpWay, statements: ReadonlyArray<string>) {
  const source = yield* emptyDatabase()
  yield* ask(source, `alter database ${source.database} set search_path to public, extensions`)
  for (let at = 0; at < statements.length; at += 50) {
    yield* ask(source, `${path} ${statements.slice(at, at + 50).join(";\n")}`)
  }
  const directory = yield* temporaryDirectory
  const [first, second] = [join(directory, "first"), join(directory, "second")]
  yield* way.dump(source, first)
  const { outside, target } = yield* unprivileged
  yield* way.restore(source, first, target)
  yield* way.dump(outside, second)
  const [before, after] = yield* Effect.all([way.contents(first), way.contents(second)])
  assert.isAbove(before.tables.size, 5)
  return contentDifferences(before, after)
})

layer(layerDatabase({ name: "svc_generated" }), live)("a generated database", (it) => {
  for (const [kind, way] of [
    ["built-in", builtIn],
    ["native", native]
  ] as const) {
    for (let seed = 1; seed <= 2 + more; seed++) {
      it.effect.skipIf(way === native && place === undefined)(`is restored as it was: ${kind}, ${seed}`, () =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* differences(way, generatedSql(seed, 30, 60)), [])
        })
      )
    }
    it.effect.skipIf(way === native && place === undefined)(`of 512 tables and 887 keys is restored: ${kind}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* differences(way, generatedSql(99, 512, 887)), [])
      })
    )
  }
})
