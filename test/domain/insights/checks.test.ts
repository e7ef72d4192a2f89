import { assert, describe, it } from "@effect/vitest"
import { cacheFinding, hitRatio } from "../../../src/domain/insights/Insight.ts"
import { obstacleTo } from "../../../src/domain/insights/StatementCheck.ts"

describe("the cache hit ratio", () => {
  const gib = 131_072
  it("is judged once enough blocks have been read", () => {
    assert.strictEqual(hitRatio({ hit: 0, read: 0 }), null)
    assert.strictEqual(hitRatio({ hit: 2, read: 1 }), 0.6667)
    assert.isUndefined(cacheFinding("app", { hit: 10, read: gib - 11 }))
    assert.isUndefined(cacheFinding("app", { hit: 99 * gib, read: gib }))
    assert.strictEqual(cacheFinding("app", { hit: 9 * gib, read: gib })?.severity, "info")
    const poor = cacheFinding("app", { hit: gib, read: gib })
    assert.strictEqual(poor?.severity, "warning")
    assert.include(poor?.explanation, "50%")
  })
})

describe("what keeps statements from being read", () => {
  const ready = { schema: "public", packaged: true, libraries: "pg_stat_statements", readable: true, role: "app" }
  it("is nothing if the extension is there, loaded and readable", () => {
    assert.isUndefined(obstacleTo(ready))
    assert.isUndefined(obstacleTo({ ...ready, libraries: 'auto_explain, "pg_stat_statements"' }))
    // Without the right to read the setting, only a query shows it.
    assert.isUndefined(obstacleTo({ ...ready, libraries: null }))
  })
  it("comes with the SQL that removes it", () => {
    assert.deepStrictEqual(obstacleTo({ ...ready, packaged: false })?.fix, null)
    assert.strictEqual(
      obstacleTo({ ...ready, libraries: "auto_explain, 'x'", schema: null })?.fix,
      "alter system set shared_preload_libraries = 'auto_explain', '''x''', 'pg_stat_statements';\ncreate extension if not exists pg_stat_statements;"
    )
    assert.strictEqual(
      obstacleTo({ ...ready, schema: null })?.fix,
      "create extension if not exists pg_stat_statements;"
    )
    assert.strictEqual(
      obstacleTo({ ...ready, readable: false, role: 'a"b' })?.fix,
      'grant pg_read_all_stats to "a""b";'
    )
  })
})
