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

it("sends nothing of before a client connected, which is in the log that it reads", () => {
  const texts: Array<string> = []
  const clients = new RealtimeClients(false)
  for (const role of ["service_role", "authenticated"] as const) {
    const actor = { role, claims: role === "authenticated" ? "{}" : "", sub: "" }
    clients.add({ actor, client: role, since: 2, send: (text) => void texts.push(`${role} ${text}`) }, 2)
  }
  clients.sendEvent(event(2), undefined)
  clients.sendGap(2, "gap 2")
  clients.sendEvent(event(3), undefined)
  clients.sendGap(4, "gap 4")
  assert.deepStrictEqual(texts, ["service_role event 3", "service_role gap 4", "authenticated gap 4"])
})

it("sends a gap if it passes the client's id without meeting it", () => {
  const gap = JSON.stringify({ gap: true, since: 3, oldest: 3 })
  assert.deepStrictEqual(heard(3, [1, 2, 4, 5]), [gap, "event 4", "event 5"])
  assert.deepStrictEqual(heard(3, [4, 5]), ["event 4", "event 5"])
})

it("withholds nothing any more from a client that is ahead for too long", () => {
  const texts: Array<string> = []
  const clients = new RealtimeClients(false)
  const actor = { role: "service_role", claims: "", sub: "" } as const
  const client = { actor, client: "1", since: 9, send: (text: string) => void texts.push(text) }
  clients.add(client, 0)
  clients.sendEvent(event(1), undefined)
  assert.isTrue(clients.isAhead(client))
  clients.catchUp(client, 1)
  clients.sendEvent(event(2), undefined)
  assert.deepStrictEqual(texts, [JSON.stringify({ gap: true, since: 9, oldest: 1 }), "event 2"])
})

it("sends a gap in place of an event of which it is unknown who may read it", () => {
  const clients = new RealtimeClients(false)
  const heardBy = (role: "anon" | "service_role", since: number | undefined) => {
    const texts: Array<string> = []
    clients.add({ actor: { role, claims: "", sub: "" }, client: role, since, send: (text) => void texts.push(text) }, 0)
    return texts
  }
  const [service, resuming, other] = [heardBy("service_role", 0), heardBy("anon", 0), heardBy("anon", undefined)]
  const readers = { known: false, anon: false, authenticated: false, secured: null }
  clients.sendEvent(event(7), readers)
  clients.sendEvent(event(8), { ...readers, known: true })
  assert.deepStrictEqual(service, ["event 7", "event 8"])
  assert.deepStrictEqual(resuming, [JSON.stringify({ gap: true, since: 6, oldest: 7 })])
  assert.deepStrictEqual(other, [])
})
