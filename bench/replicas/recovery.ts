import { setTimeout as sleep } from "node:timers/promises"
import { type Receiver, type Subscriber } from "./listeners.ts"
import { type Load } from "./load.ts"
import { type Journal } from "./report.ts"

/** How often a capability is tried, and how long, in ms. */
const every = 200
const patience = 60_000

const within = async (millis: number, condition: () => boolean) => {
  for (const deadline = Date.now() + millis; !condition(); await sleep(5)) if (Date.now() > deadline) return false
  return true
}

/** Requests that succeed, by the capability they need. */
const capabilities = (load: Load, receiver: Receiver, subscriber: Subscriber) => {
  const ok = async (answer: ReturnType<Load["send"]>) => (await answer)?.status === 200
  const appended = async (then: (op: string) => boolean) => {
    const op = await load.append()
    return op !== undefined && (await within(10_000, () => then(op)))
  }
  return {
    "read rows": () => ok(load.send([200], "GET", "/v1/db/appends?limit=1", load.key)),
    "write rows": async () => (await load.append()) !== undefined,
    sql: () => ok(load.send([200], "POST", "/v1/sql", load.key, { sql: "select 1" })),
    "evaluate flags": () => ok(load.evaluate()),
    "change flags": () => ok(load.describeFlag()),
    accounts: () => ok(load.account()),
    files: () => load.upload(),
    realtime: () => appended((op) => subscriber.heard.has(`${op} 1`)),
    webhooks: () => appended((op) => receiver.deliveries.has(op))
  }
}

/** Measures, from now on, how long it takes until each capability has worked again. */
export const makeRecovery = (load: Load, receiver: Receiver, subscriber: Subscriber, journal: Journal) => {
  const all = Object.entries(capabilities(load, receiver, subscriber))
  return async (fault: string): Promise<void> => {
    const from = Date.now()
    const recover = async (name: string, attempt: () => Promise<boolean>) => {
      const times: Array<number> = []
      // A request that hangs does not keep the next one from being sent, as with other clients.
      while (times.length === 0 && Date.now() - from < patience) {
        void attempt().then((good) => {
          if (good) times.push(Date.now() - from)
        })
        await within(every, () => times.length > 0)
      }
      const [millis] = times
      if (millis === undefined) journal.found("notRecovered", `${name}, ${patience / 1_000} s after: ${fault}`)
      else journal.recovered(fault, name, millis)
    }
    await Promise.all(all.map(([name, attempt]) => recover(name, attempt)))
  }
}
