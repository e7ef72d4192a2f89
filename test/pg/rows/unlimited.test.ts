import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerDatabase, live } from "../../support/database.ts"
import { library } from "../../support/docs/library.ts"
import { raw } from "../../support/requests.ts"

const suite = layer(layerDatabase({ name: "row_unlimited", settings: { SVC_DB_MAX_ROWS: "0" }, before: library }), live)

suite("without a limit of rows", (it) => {
  it.effect.each(
    (["exact", "estimated", "planned"] as const).flatMap((count) =>
      [
        ["books?id=lt.3", 2],
        ["books?title=like.*&id=in.(1,2,3)", 3],
        ["books?select=id,reviews!inner(stars)&reviews.stars=eq.5&id=eq.1", 1],
        ["books?id=lt.4&limit=1", 1],
        ["books?id=lt.4&offset=1", 2]
      ].map(([line, rows]) => [count, String(line), Number(rows)] as const)
    )
  )("the %s number of %s is counted", ([count, line, rows]) =>
    Effect.gen(function* () {
      const answer = yield* raw.get(line, { prefer: { count } })
      assert.strictEqual(answer.count, rows)
      const all = line.includes("limit") || line.includes("offset") ? 3 : rows
      if (count === "exact") assert.strictEqual(answer.total, all)
      else assert.isAtLeast(answer.total ?? 0, 1)
    })
  )
})
