/** What metrics and traces add to a request that is not traced, in one thread and without a database. */
import { Effect } from "effect"
import { createServer } from "node:http"
import { makeStatementCounts } from "../../src/layers/postgres/rows/Pools.ts"
import { withShortTurns } from "../../src/layers/net/ShortTurns.ts"
import { Meters } from "../../src/services/metrics/Meters.ts"
import { sampledSpan } from "../../src/services/Tracing.ts"
import { now } from "../support/clock.ts"
import { median } from "./table.ts"

/** The largest part of a request's processor time that they may take. */
const maxPart = 0.01
/** Requests of one turn of the event loop, as many as the clients of the other measurements send at once. */
const together = 32

const request = {}
const response = { destroyed: false }

const withMetrics = () => {
  const { ended } = makeStatementCounts(new Meters(), "anon")
  const statement = Effect.withFiber((fiber) => {
    const begun = performance.now()
    if (sampledSpan(fiber) === undefined) ended(begun)
    return Effect.void
  })
  return withShortTurns(createServer(() => Effect.runSync(statement)))
}
const without = () => {
  const statement = Effect.suspend(() => Effect.void)
  return createServer(() => Effect.runSync(statement))
}

/** µs for one request, of each server in turn: the median of many turns. */
const compare = async (servers: ReadonlyArray<ReturnType<typeof createServer>>, turns: number) => {
  const took = servers.map(() => [] as Array<number>)
  for (let turn = 0; turn < turns; turn++) {
    for (const [at, server] of servers.entries()) {
      const began = now()
      for (let n = 0; n < together; n++) server.emit("request", request as never, response as never)
      if (turn > turns / 2) took[at]?.push(((now() - began) * 1000) / together)
    }
    await new Promise((next) => setImmediate(next))
  }
  return took.map(median)
}

/** `perRequest`: processor time of a request in the same run, in µs. False if metrics take more of it than they may. */
export const measureMetrics = async (perRequest: number | undefined, quick: boolean): Promise<boolean> => {
  const [measured = 0, bare = 0] = await compare([withMetrics(), without()], quick ? 4_000 : 20_000)
  const added = measured - bare
  const part = perRequest === undefined ? undefined : added / perRequest
  const compared = part === undefined ? "" : `, ${(100 * part).toFixed(2)} % of the processor time of (a)`
  console.log(`\nmetrics and traces add ${added.toFixed(2)} µs to a request${compared}`)
  return part === undefined || part <= maxPart
}
