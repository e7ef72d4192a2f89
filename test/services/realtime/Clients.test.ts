import { assert, it } from "vitest"
import { RealtimeClients } from "../../../src/services/realtime/Clients.ts"

const event = (id: number) => ({ id, schema: "public", table: "t", text: `event ${id}` })

/** What a client that resumes after `since` is sent. */
const heard = (since: number | undefined, ids: ReadonlyArray<number>) => {
  const texts: Array<string> = []
  const clients = new RealtimeClients(false)
  const actor = { role: "service_role", claims: "", sub: "" } as const
  clients.add({ actor, client: "1", since, send: (text) => void texts.push(text) }, 0)
  for (const id of ids) clients.sendEvent(event(id), undefined)
  return texts
}

it("sends nothing twice to a client that is ahead of this replica", () => {
  assert.deepStrictEqual(heard(3, [1, 2, 3, 4, 5]), ["event 4", "event 5"])
  assert.deepStrictEqual(heard(undefined, [1, 2]), ["event 1", "event 2"])
})

it("sends a gap if it passes the client's id without meeting it", () => {
  const gap = JSON.stringify({ gap: true, since: 3, oldest: 3 })
  assert.deepStrictEqual(heard(3, [1, 2, 4, 5]), [gap, "event 4", "event 5"])
  assert.deepStrictEqual(heard(3, [4, 5]), ["event 4", "event 5"])
})
