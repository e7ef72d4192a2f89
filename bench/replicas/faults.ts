import { setTimeout as sleep } from "node:timers/promises"
import { type Random } from "../isolation/random.ts"
import { type Cluster } from "./cluster.ts"
import { type WireState } from "./wires.ts"

/** Causes a fault, and ends it. `over` is called at the moment from which recovery counts, and its result awaited. */
type Fault = (random: Random, over: () => Promise<void>) => Promise<void>

/** The faults that this cluster can have, by name. `long`: the longest time for which a server is silent, in ms. */
export const faultsOf = (cluster: Cluster, long: number): ReadonlyMap<string, Fault> => {
  const faults = new Map<string, Fault>()
  const { clocks, disks, networks, parts, primary, replicas } = cluster

  faults.set("replica killed", async (random, over) => {
    const replica = random.of(replicas)
    await replica.kill()
    const recovered = over()
    await sleep(500 + random.below(3_500))
    replica.launch()
    await recovered
  })
  faults.set("replica suspended", async (random, over) => {
    const replica = random.of(replicas)
    replica.signal("SIGSTOP")
    const recovered = over()
    await sleep(500 + random.below(random.chance(0.3) ? long : 3_500))
    replica.signal("SIGCONT")
    await recovered
  })
  faults.set("replica stopped", async (random, over) => {
    const replica = random.of(replicas)
    const recovered = over()
    const code = await replica.end("SIGTERM")
    if (code !== 0) throw new Error(`A replica ended with ${code} after SIGTERM:\n${replica.output.slice(-2_000)}`)
    replica.launch()
    await recovered
  })
  faults.set("PostgreSQL killed", async (_, over) => {
    process.kill(await primary.pid(), "SIGKILL")
    await over()
  })
  faults.set("PostgreSQL restarted", async (_, over) => {
    process.kill(await primary.pid(), "SIGINT")
    await over()
  })
  faults.set("PostgreSQL suspended", async (random, over) => {
    await primary.signal("SIGSTOP")
    await sleep(1_500 + random.below(long))
    await primary.signal("SIGCONT")
    await over()
  })
  for (const [name, part] of Object.entries(parts)) {
    faults.set(`${name} killed`, async (random, over) => {
      await part.kill()
      await sleep(random.below(4_000))
      await part.start()
      await over()
    })
    faults.set(`${name} suspended`, async (random, over) => {
      await part.signal("SIGSTOP")
      await sleep(1_500 + random.below(long))
      await part.signal("SIGCONT")
      await over()
    })
  }
  for (const [name, disk] of Object.entries(disks)) {
    faults.set(`disk full: ${name}`, async (random, over) => {
      for (const until = Date.now() + 4_000 + random.below(6_000); Date.now() < until; await sleep(250))
        await disk.fill()
      await disk.free()
      // A standby that could not write has ended, and has no supervisor here.
      if (name === "PostgreSQL") await parts["standby"]?.start()
      await over()
    })
  }
  for (const [name, network] of Object.entries(networks)) {
    const states: ReadonlyArray<WireState> = ["slow", "silent", "cut"]
    for (const state of states)
      faults.set(`network ${state}: ${name}`, async (random, over) => {
        await network.set(state)
        await sleep(1_500 + random.below(state === "silent" ? long : 5_000))
        await network.set("well")
        await over()
      })
  }
  if (clocks)
    faults.set("clock wrong", async (random, over) => {
      const replica = random.of(replicas)
      // An object store refuses signatures that are 15 minutes off.
      replica.setClock(random.of([-600, -60, -5, 5, 60, 600]))
      const recovered = over()
      await sleep(2_000 + random.below(6_000))
      replica.setClock(0)
      await recovered
      // Both changes have been noticed.
      await sleep(1_500)
    })
  return faults
}

/** Waits until the balancer has noticed the end of a fault, and every replica is ready. */
export const allReady = async ({ replicas }: Cluster, fault: string) => {
  await sleep(1_500)
  for (const deadline = Date.now() + 60_000; !replicas.every(({ ready }) => ready); await sleep(100))
    if (Date.now() > deadline) throw new Error(`Not every replica is ready a minute after: ${fault}`)
}
