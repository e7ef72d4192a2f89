import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Queue, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { ObjectStoreAddress } from "../../../src/layers/storage/Address.ts"
import { earliestShown, layerKeptObjects } from "../../../src/layers/storage/KeptObjects.ts"
import { layerDatabase, live } from "../../support/database.ts"

const address = {
  endpoint: "",
  publicEndpoint: "",
  region: "",
  accessKey: "",
  secretKey: Redacted.make(""),
  forcePathStyle: true,
  admitsPages: () => false
}

layer(layerDatabase({ name: "kept_objects" }), live)("objects of branches", (it) => {
  it.effect("are kept from the earliest time on that a branch shows", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const add = (name: string, at: string | null, status: string, expires: string | null) =>
        sql.unsafe(
          `insert into svc.branches (label, database_name, password, ttl_hours, status, objects_at, expires_at)
           values ($1, $1, '', 0, $2, $3::timestamptz, $4::timestamptz)`,
          [name, status, at, expires]
        )
      assert.isUndefined(yield* earliestShown)
      yield* add("svc_branch_000000000001", null, "active", null)
      yield* add("svc_branch_000000000002", "2026-01-01T00:00:00Z", "dropping", null)
      yield* add("svc_branch_000000000003", "2026-01-02T00:00:00Z", "active", "2026-01-03T00:00:00Z")
      assert.isUndefined(yield* earliestShown)
      yield* add("svc_branch_000000000004", "2026-01-05T00:00:00.001999Z", "restoring", null)
      yield* add("svc_branch_000000000005", "2026-01-06T00:00:00Z", "active", "9999-01-01T00:00:00Z")
      assert.strictEqual(yield* earliestShown, Date.parse("2026-01-05T00:00:00.001Z"))
      const kept = yield* Queue.unbounded<number | undefined>()
      const keepFrom = (at: number | undefined) => Effect.asVoid(Queue.offer(kept, at))
      yield* Layer.build(
        layerKeptObjects.pipe(Layer.provide(Layer.succeed(ObjectStoreAddress, { ...address, keepFrom })))
      )
      assert.strictEqual(yield* Queue.take(kept), Date.parse("2026-01-05T00:00:00.001Z"))
      yield* sql.unsafe("delete from svc.branches")
    })
  )
})
