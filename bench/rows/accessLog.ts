/** The cost of SVC_ACCESS_LOG: one row by primary key, by two services in turn, one of which logs each request. */
import { load } from "../support/processes.ts"
import { processorTimes } from "../support/resources.ts"
import { sample, type Service, type ServiceOptions, withService } from "../support/service.ts"
import { scenarios } from "./scenarios.ts"
import { median, printTable, whole } from "./table.ts"

const rounds = 9

/** Responses a second, and µs of the service's processor time for each. */
interface Slice {
  readonly rate: number
  readonly micros: number
  readonly failures: number
}

/** Returns the number of failures. `seconds`: of both services in all. */
export const measureAccessLog = (
  plain: Service,
  options: Omit<ServiceOptions, "profileDir">,
  seconds: number
): Promise<number> =>
  withService({ ...options, profile: false, env: { ...options.env, SVC_ACCESS_LOG: "true" } }, async (logging) => {
    const [scenario] = scenarios
    if (scenario === undefined) return 0
    const slice = async (service: Service, length: number): Promise<Slice> => {
      const { method, paths } = scenario
      const before = await processorTimes(service.pid)
      const result = await load({
        url: service.url,
        seconds: length,
        method,
        paths,
        headers: scenario.headers(service.credentials)
      })
      const spent = (await processorTimes(service.pid)).service - before.service
      return { rate: result.rate, micros: (1e6 * spent) / result.count, failures: result.failures }
    }
    const both = [plain, logging]
    for (const service of both) {
      await sample(service, scenario)
      await slice(service, 4)
    }
    const length = Math.max(1, seconds / rounds / both.length)
    const slices: Array<readonly [plain: Slice, logging: Slice]> = []
    // In turn, and each first in every other round, because the machine's speed varies.
    for (let round = 0; round < rounds; round++) {
      const first = round % 2
      const one = await slice(both[first] ?? plain, length)
      const other = await slice(both[1 - first] ?? plain, length)
      slices.push(first === 0 ? [one, other] : [other, one])
    }
    const row = (title: string, of: 0 | 1) => [
      title,
      whole(median(slices.map((pair) => pair[of].rate))),
      whole(median(slices.map((pair) => pair[of].micros)))
    ]
    const ratios = slices.map(([without, having]) => having.rate / without.rate)
    const costs = slices.map(([without, having]) => having.micros - without.micros)
    console.log("\nGET one row by primary key, with and without SVC_ACCESS_LOG, in turn; medians\n")
    printTable(["", "per second", "our µs"], [row("without", 0), row("with", 1)], 1)
    console.log(`\nratio ${median(ratios).toFixed(3)} (${ratios.map((ratio) => ratio.toFixed(2)).join(" ")})`)
    console.log(`µs more ${median(costs).toFixed(1)} (${costs.map((cost) => cost.toFixed(0)).join(" ")})`)
    return slices.flat().reduce((sum, { failures }) => sum + failures, 0)
  })
