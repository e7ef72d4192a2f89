import { Effect, Exit } from "effect"
import { type FunctionOverview, type FunctionRecord } from "../../domain/functions/Function.ts"
import { CurrentMeters } from "../metrics/Meters.ts"
import { type FunctionReply } from "../ports/supabase/FunctionServer.ts"
import { Peers } from "../ports/workers/Peers.ts"

/** What a function has done since the process of the service has started. */
interface Activity {
  readonly calls: number
  readonly errors: number
  readonly running: boolean
  /** Why its process ended, if no call has succeeded since. */
  readonly problem: string | undefined
}

interface Counts {
  calls: number
  errors: number
  lastSucceeded: boolean
}

const outcomeOf = (exit: Exit.Exit<FunctionReply, unknown>) =>
  Exit.isFailure(exit) ? "refused" : exit.value.status < 500 ? "succeeded" : "failed"

/** Counts the calls of functions, in metrics and for those who ask. */
export const makeActivity = Effect.fnUntraced(function* (
  stateOf: (name: string) => Pick<Activity, "problem" | "running">
) {
  const meters = yield* CurrentMeters
  const peers = yield* Peers
  const outcomes = new Map<string, () => void>()
  const counted = new Map<string, Counts>()

  const count = (name: string, exit: Exit.Exit<FunctionReply, unknown>) => {
    const outcome = outcomeOf(exit)
    const key = `${name} ${outcome}`
    const counter = outcomes.get(key) ?? meters.counter("svc_function_calls_total", { function: name, outcome })
    outcomes.set(key, counter)
    counter()
    const counts = counted.get(name) ?? { calls: 0, errors: 0, lastSucceeded: true }
    counted.set(name, counts)
    counts.calls++
    counts.lastSucceeded = outcome === "succeeded"
    if (!counts.lastSucceeded) counts.errors++
  }

  const here = (): ReadonlyArray<readonly [string, Activity]> =>
    Array.from(counted, ([name, { calls, errors, lastSucceeded }]) => {
      const { problem, running } = stateOf(name)
      return [name, { calls, errors, running, problem: lastSucceeded ? undefined : problem }]
    })
  yield* peers.on("functions", () => Effect.sync(() => JSON.stringify(here())))

  /** By the name of the function, of all processes of the service on this machine. */
  const everywhere = Effect.map(peers.ask("functions", ""), (others) => {
    const all = new Map<string, Activity>()
    for (const [name, one] of [...here(), ...others.flatMap((json) => JSON.parse(json) as ReturnType<typeof here>)]) {
      const sum = all.get(name)
      all.set(name, {
        calls: one.calls + (sum?.calls ?? 0),
        errors: one.errors + (sum?.errors ?? 0),
        running: one.running || sum?.running === true,
        problem: sum?.problem ?? one.problem
      })
    }
    return all
  })
  return { count, everywhere }
})

/** What there is to say of a function of the folder. */
const undeployed = {
  source: "folder",
  version: 0,
  verify_jwt: null,
  digest: null,
  size: null,
  created_by: null,
  created_at: null,
  updated_at: null
} as const

const shownActivity = (activity: Activity | undefined) => {
  const { calls = 0, errors = 0, problem, running = false } = activity ?? {}
  const state = problem !== undefined ? "failing" : running ? "running" : "idle"
  return { state, problem: problem ?? null, calls, errors } as const
}

/** All functions that can be called, by name: what was deployed goes before what the folder has. */
export const overviewOf = (
  deployed: ReadonlyArray<FunctionRecord>,
  ofFolder: ReadonlyArray<string>,
  activity: ReadonlyMap<string, Activity>
): ReadonlyArray<FunctionOverview> => {
  const names = new Set(deployed.map(({ name }) => name))
  const withActivity = (one: Omit<FunctionOverview, keyof ReturnType<typeof shownActivity>>): FunctionOverview =>
    Object.assign(shownActivity(activity.get(one.name)), one)
  return [
    ...deployed.map((one) => withActivity(Object.assign({ source: "api" as const }, one))),
    ...ofFolder
      .filter((name) => !names.has(name))
      .map((name) => withActivity({ name, entrypoint: `${name}/index.ts`, ...undeployed }))
  ].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
