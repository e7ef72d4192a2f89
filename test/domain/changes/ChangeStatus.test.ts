import { assert, describe, it } from "@effect/vitest"
import { healthOf, type Slot } from "../../../src/domain/changes/ChangeStatus.ts"

const mib = 1024 * 1024
const slot: Slot = {
  active: true,
  lag: 0,
  retained: 16 * mib,
  remaining: 100 * mib,
  limit: 128 * mib,
  wal_status: "reserved"
}

describe("the state of the reader", () => {
  it.each([
    ["ok", {}, 0],
    ["ok", { wal_status: "extended" }, 59],
    ["late", {}, 60],
    ["at_risk", { remaining: 63 * mib }, 0],
    ["at_risk", { remaining: 63 * mib }, 90],
    ["at_risk", { remaining: 100 * mib, wal_status: "unreserved" }, 0],
    // Without a limit of PostgreSQL's, that of the setting counts.
    ["ok", { remaining: null, limit: null, retained: 100 * mib }, 0],
    ["at_risk", { remaining: null, limit: null, retained: 129 * mib }, 0],
    ["unread", { active: false }, 0],
    ["lost", { active: false, wal_status: "lost" }, 0]
  ] as const)("is %s with %j, %d s late", (state, given, seconds) => {
    assert.strictEqual(healthOf({ ...slot, ...given }, seconds, 256 * mib), state)
  })

  it("is unread without a slot", () => assert.strictEqual(healthOf(undefined, 0, 1), "unread"))
})
