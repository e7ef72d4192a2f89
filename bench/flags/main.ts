/**
 * `npm run bench:flags`: the cost of an evaluation in the engine and over the network, compared with a bare node:http
 * server in the same run; the time to build a snapshot; the latency of a toggle. Everything runs on loopback, on a new
 * embedded PostgreSQL in the temporary directory. Exit code 1 if a request fails or the shares of a rollout are wrong.
 */
import { cpus, loadavg } from "node:os"
import { measureEngine } from "./engine.ts"
import { measureSnapshots } from "./snapshots.ts"
import { measureToggles } from "./toggles.ts"
import { measureWire } from "./wire.ts"
import { runProgram } from "../support/program.ts"
import { type Service } from "../support/service.ts"

const help = `npm run bench:flags -- [options]
  --only a,b      only these parts: a b c d
  --quick         shorter measurements, for a first look
  --cpu-prof      the service writes a CPU profile when it ends
  --entry FILE    the service's program (default dist/main.mjs)

  a  one evaluation in the engine; the distribution of 100,000 keys over 10/20/70
  b  snapshots of 1,000 and 10,000 flags
  c  evaluations over HTTP, OFREP and Connect
  d  from a toggle to SDKs, at the same replica and at another one`

const parts = { a: measureEngine, b: measureSnapshots, c: measureWire, d: measureToggles }

const run = async (service: Service, wants: (part: string) => boolean, quick: boolean) => {
  console.log(`Node ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} before`)
  let good = true
  for (const [part, measure] of Object.entries(parts)) {
    if (wants(part)) good = (await measure(service, quick)) && good
  }
  return good ? 0 : 1
}

await runProgram({ help, parts: "abcd", service: { setup: () => [] }, run })
