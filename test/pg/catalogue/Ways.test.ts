import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { ways } from "../../../src/domain/catalogue/Ways.ts"
import { layerDatabase, live, Outside } from "../../support/database.ts"

const suite = layer(layerDatabase({ name: "catalogue_ways" }), live)

suite("the proof of statements that run no user code", (it) => {
  it.effect("judges every column of the catalogue that names a function or holds an expression", () =>
    Effect.gen(function* () {
      const { sql } = yield* Outside
      const rows = yield* sql(`
        select relname || '.' || name as way from (
          select fktable, pg_catalog.unnest(fkcols) from pg_catalog.pg_get_catalog_foreign_keys()
            where pktable = 'pg_proc'::regclass and fktable <> 'pg_proc'::regclass
          union select attrelid, attname from pg_attribute
            where attrelid < 16384 and attnum > 0
              and atttypid in ('pg_node_tree'::regtype, 'regproc'::regtype)) c("table", name)
        join pg_class on pg_class.oid = "table" and relkind = 'r' order by 1`)
      assert.deepStrictEqual(Object.keys(ways).toSorted(), rows.map(({ way }) => String(way)).toSorted())
    })
  )
})
