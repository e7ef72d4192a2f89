/** Creates, lists and drops a hundred branches. */
import { type Branch, type DatabaseBench, dropBranch, makeBranch, manage } from "./bench.ts"
import { median, millis, printTable } from "../rows/table.ts"

const timed = async <A>(use: () => Promise<A>) => {
  const started = performance.now()
  const value = await use()
  return { value, took: performance.now() - started }
}

const row = (title: string, took: ReadonlyArray<number>) => [
  title,
  String(took.length),
  millis(took[0] ?? Number.NaN),
  millis(median(took)),
  millis(Math.max(...took))
]

export const measureListing = async ({ quick, service }: DatabaseBench) => {
  const count = quick ? 20 : 100
  console.error(`b ${count} branches …`)
  const [made, listed, dropped]: [Array<number>, Array<number>, Array<number>] = [[], [], []]
  const branches: Array<Branch> = []
  for (let n = 0; n < count; n++) {
    const { took, value } = await timed(() => makeBranch(service, `listed ${n}`))
    branches.push(value)
    made.push(took)
  }
  let complete = true
  for (let n = 0; n < 50; n++) {
    const { took, value } = await timed(() => manage<ReadonlyArray<Branch>>(service, "GET", "/api/branches"))
    complete &&= value.length === count
    listed.push(took)
  }
  for (const branch of branches) dropped.push((await timed(() => dropBranch(service, branch))).took)
  console.log(`\nb: ${count} branches; target 50 ms for a list of 100\n`)
  const rows = [row("make one of an almost empty database", made), row("list all", listed), row("drop one", dropped)]
  printTable(["", "times", "first ms", "median", "max"], rows, 1)
  if (!complete) console.error("A list was incomplete")
  return complete
}
