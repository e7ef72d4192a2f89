/** `/v1` on a branch, compared with the main database of the same service. */
import { type Branch, type DatabaseBench, dropBranch, firstRow, makeBranch, streamOf } from "./bench.ts"
import { type Streamed } from "./client.ts"
import { processorTime } from "../support/resources.ts"
import { connections, type Scenario, scenarios } from "../rows/scenarios.ts"
import { sample } from "../support/service.ts"
import { median, millis, printTable, whole } from "../rows/table.ts"

const onBranch = (scenario: Scenario, { id }: Branch): Scenario => ({
  ...scenario,
  headers: (credentials) => ({ ...scenario.headers(credentials), "x-svc-branch": String(id) })
})

interface Turn extends Streamed {
  /** Processor time of the service in seconds. */
  readonly processor: number
}

const rate = (turns: ReadonlyArray<Turn>) =>
  turns.reduce((sum, { count }) => sum + count, 0) / turns.reduce((sum, { seconds }) => sum + seconds, 0)

/** Processor time of the service for each request, in microseconds. */
const cost = (turns: ReadonlyArray<Turn>) =>
  (1e6 * turns.reduce((sum, { processor }) => sum + processor, 0)) / turns.reduce((sum, { count }) => sum + count, 0)

const quartiles = (values: ReadonlyArray<number>) => {
  const sorted = values.toSorted((a, b) => a - b)
  const half = Math.ceil(sorted.length / 2)
  return [median(sorted.slice(0, half)), median(sorted.slice(-half))]
}

const measure = async ({ client, quick, service }: DatabaseBench, scenario: Scenario, branch: Branch) => {
  const both = { main: scenario, branch: onBranch(scenario, branch) }
  for (const each of Object.values(both)) await sample(service, each)
  const turn = async (of: keyof typeof both): Promise<Turn> => {
    const before = await processorTime(service.pid)
    const done = await client.call("turn", { stream: streamOf(service, both[of]), millis: 200 })
    return { ...done, processor: (await processorTime(service.pid)) - before }
  }
  for (let warm = 0; warm < 10; warm++) await turn(warm % 2 === 0 ? "main" : "branch")
  const [mains, branches]: [Array<Turn>, Array<Turn>] = [[], []]
  const ratios: Array<number> = []
  // The machine's speed varies: each round measures both twice, in alternating order, for one ratio.
  for (let round = 0; round < (quick ? 8 : 24); round++) {
    const outer = round % 2 === 0 ? ("main" as const) : ("branch" as const)
    const inner = outer === "main" ? "branch" : "main"
    const [first, second, third, fourth] = [await turn(outer), await turn(inner), await turn(inner), await turn(outer)]
    const [ofOuter, ofInner] = [
      [first, fourth],
      [second, third]
    ]
    const [main, other] = outer === "main" ? [ofOuter, ofInner] : [ofInner, ofOuter]
    mains.push(...main)
    branches.push(...other)
    ratios.push(rate(other) / rate(main))
  }
  const [low = Number.NaN, high = Number.NaN] = quartiles(ratios)
  const all = [...mains, ...branches]
  const of = (turns: ReadonlyArray<Turn>, pick: (turn: Turn) => number) => median(turns.map(pick))
  return {
    failures: all.reduce((sum, { failures }) => sum + failures, 0),
    failure: all.find(({ failure }) => failure !== "")?.failure,
    inserted: branches.reduce((sum, { count }) => sum + count, 0),
    cells: [
      scenario.id,
      scenario.title,
      whole(of(mains, (turn) => turn.count / turn.seconds)),
      whole(of(branches, (turn) => turn.count / turn.seconds)),
      median(ratios).toFixed(2),
      `${low.toFixed(2)}–${high.toFixed(2)}`,
      millis(of(mains, ({ each }) => each.p50)),
      millis(of(branches, ({ each }) => each.p50)),
      millis(of(mains, ({ each }) => each.p99)),
      millis(of(branches, ({ each }) => each.p99)),
      whole(cost(mains)),
      whole(cost(branches))
    ]
  }
}

export const measureRelative = async (bench: DatabaseBench) => {
  const { service } = bench
  const branch = await makeBranch(service, "relative to main")
  const rows = []
  for (const scenario of scenarios.filter(({ connections }) => connections === undefined)) {
    console.error(`a ${scenario.id} …`)
    rows.push(await measure(bench, scenario, branch))
  }
  const { n } = await firstRow(service, "select count(*)::int as n from bench_inserted", branch)
  await dropBranch(service, branch)
  console.log(`\na: /v1 on a branch and on main in turns, ${connections} connections; target 0.9 of main`)
  console.log("ratio: median and quartiles over the rounds; µs: processor time of the service per request\n")
  const head = [
    "",
    "",
    "main a second",
    "branch",
    "ratio",
    "quartiles",
    "p50 ms",
    "branch",
    "p99",
    "branch",
    "µs",
    "branch"
  ]
  printTable(
    head,
    rows.map(({ cells }) => cells),
    2
  )
  for (const { failure, failures } of rows) if (failures > 0) console.error(`${failures} failed: ${failure}`)
  if (Number(n) === 0) console.error("The branch received no rows")
  return Number(n) > 0 && rows.every(({ failures }) => failures === 0)
}
