import { assert } from "vitest"
import { type Branch } from "../../../src/domain/branches/Branch.ts"
import { type RecoveryState } from "../../../src/domain/recovery/Recovery.ts"
import { ask } from "../client.ts"
import { type Service, until } from "../service.ts"

type Archiving = Pick<Service, "url" | "service_role">

export const recoveryState = async (service: Archiving): Promise<RecoveryState> => {
  const { json, status, text } = await ask(service, "GET /api/backups/pitr", { key: service.service_role })
  assert.strictEqual(status, 200, text)
  return json as RecoveryState
}

/** Waits until everything up to now can be restored. */
export const archivedUntilNow = async (service: Archiving) => {
  const now = Date.now()
  const state = await until(
    () => recoveryState(service),
    ({ latest }) => Date.parse(latest ?? "") >= now,
    60_000
  )
  assert.isAtLeast(Date.parse(state.latest ?? ""), now, JSON.stringify(state))
  return state
}

export const restoreTo = async (service: Archiving, time: number): Promise<Branch> => {
  const { json, status, text } = await ask(service, "POST /api/backups/pitr", {
    key: service.service_role,
    body: { target_time: new Date(time).toISOString() }
  })
  assert.strictEqual(status, 201, text)
  return json as Branch
}
