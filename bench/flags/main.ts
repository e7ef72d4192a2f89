/**
 * `npm run bench:flags`: what an evaluation costs, in the engine and over the wire next to a bare node:http server in
 * the same run; how long a snapshot takes; how soon a toggle is seen. Everything runs on loopback, on a new embedded
 * PostgreSQL under the temporary directory. Exit code 1 when a request failed or rollouts are not as they should be.
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
  --cpu-prof      the service writes a CPU profile at its end
  --entry FILE    the service's program (default src/main.ts)

  a  one evaluation in the engine; how 100,000 keys are spread over 10/20/70
  b  snapshots of 1,000 and 10,000 flags
  c  evaluations over HTTP, OFREP and Connect
  d  from a toggle to SDKs, here and at another replica`

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
