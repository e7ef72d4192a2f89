import { setTimeout as sleep } from "node:timers/promises"
import { type Random } from "../isolation/random.ts"
import { type Cluster } from "./cluster.ts"

export const faultKinds = [
  "replica killed",
  "replica suspended",
  "replica stopped",
  "PostgreSQL killed",
  "PostgreSQL suspended",
  "PostgreSQL restarted"
] as const
export type FaultKind = (typeof faultKinds)[number]

const signalAll = async (cluster: Cluster, name: NodeJS.Signals) => {
  for (const pid of await cluster.postgres())
    try {
      process.kill(pid, name)
    } catch {
      // It has ended meanwhile.
    }
}

/** Causes a fault, and returns once it is over. Throws if a replica that was stopped ended otherwise than it should. */
export const cause = async (kind: FaultKind, cluster: Cluster, random: Random): Promise<void> => {
  const replica = random.of(cluster.replicas)
  const millis = 500 + random.below(3_500)
  if (kind === "replica killed") {
    await replica.end("SIGKILL")
    await sleep(millis)
    replica.start()
  } else if (kind === "replica suspended") {
    replica.signal("SIGSTOP")
    await sleep(millis)
    replica.signal("SIGCONT")
  } else if (kind === "replica stopped") {
    const code = await replica.end("SIGTERM")
    if (code !== 0) throw new Error(`A replica ended with ${code} after SIGTERM`)
    replica.start()
  } else if (kind === "PostgreSQL suspended") {
    await signalAll(cluster, "SIGSTOP")
    await sleep(3 * millis)
    await signalAll(cluster, "SIGCONT")
  } else {
    const [postmaster = 0] = await cluster.postgres()
    process.kill(postmaster, kind === "PostgreSQL killed" ? "SIGKILL" : "SIGINT")
  }
  // Until the balancer has noticed.
  await sleep(1_500)
  for (const deadline = Date.now() + 60_000; !cluster.replicas.every(({ ready }) => ready); await sleep(100))
    if (Date.now() > deadline) throw new Error(`Not every replica is ready a minute after: ${kind}`)
}
