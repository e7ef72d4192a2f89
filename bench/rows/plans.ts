/** The time from a query string to SQL, without a database. */
import { Result } from "effect"
import { type Catalogue } from "../../src/domain/catalogue/Catalogue.ts"
import { parseRows } from "../../src/domain/rows/parse/Parser.ts"
import { planRows } from "../../src/domain/rows/plan/Planner.ts"
import { type RowRead } from "../../src/domain/rows/Reads.ts"
import { readSql } from "../../src/domain/rows/sql/Statement.ts"
import { now } from "../support/clock.ts"
import { type Service } from "../support/service.ts"
import { newReads, planOptions, readCatalogue, readOf } from "./statements.ts"
import { median, printTable } from "./table.ts"

interface Query {
  readonly title: string
  /** Target for parsing, planning and writing together, in µs. */
  readonly target?: number
  /** The path with the literals `n`, and optionally another name. */
  readonly path: (n: number, name?: string) => string
}

const embed = (name: string) => `select=${name}:id,title,bench_tasks(id,title,done,bench_comments(id,text))`
const filters = (n: number) =>
  `id=gte.${n}&title=like.List*${n}*&bench_tasks.done=is.false&bench_tasks.title=neq.${n}&bench_tasks.bench_comments.id=gt.${n}`
const rest = "order=title.desc.nullslast,id.asc&bench_tasks.order=id.asc&limit=20"

const queries: ReadonlyArray<Query> = [
  { title: "one row by primary key", path: (n, name = "id") => `/v1/db/bench?id=eq.${n}&select=${name}:id,title,done` },
  {
    title: "embed of two levels with filters",
    target: 30,
    path: (n, name = "id") => `/v1/db/bench_lists?${embed(name)}&${filters(n)}&${rest}`
  },
  {
    title: "the same with an or() tree",
    path: (n, name = "id") =>
      `/v1/db/bench_lists?${embed(name)}&${filters(n)}&or=(id.lt.${n},and(title.eq.x,id.not.in.(1,${n})))&${rest}`
  }
]

/** Number of different queries, more than the cache has shapes: a query with its own shape is never in the cache. */
const different = 1_500

/** Calls per turn, which takes a fraction of a millisecond, so that few turns are interrupted on a busy machine. */
const each = 10

/** µs per call, the median of many turns. */
const cost = (turns: number, call: (n: number) => unknown) => {
  const took: Array<number> = []
  for (let turn = 0; turn < turns; turn++) {
    const began = now()
    for (let n = 0; n < each; n++) call(turn * each + n)
    // The first half is a warm-up for the compiler.
    if (turn > turns / 2) took.push(((now() - began) * 1000) / each)
  }
  return median(took)
}

const planOf = (catalogue: Catalogue, { query, schema, table }: RowRead, parsed = parse(query)) => {
  const from = { schema, name: table }
  const source = { _tag: "Relation", name: from } as const
  const relation = catalogue.relation(schema, table)
  return Result.getOrThrow(planRows(parsed, { catalogue, source, from, relation, ...planOptions, filtered: true }))
}

const parse = (query: RowRead["query"]) => Result.getOrThrow(parseRows(query))

const measured = (catalogue: Catalogue, { path, target, title }: Query, turns: number) => {
  const reads = Array.from({ length: different }, (_, n) => readOf(path(n + 1)))
  const [first] = reads
  if (first === undefined) throw new Error("No queries")
  const read = (n: number) => reads[n % different] ?? first
  const { form } = first
  const parsed = parse(first.query)
  const { rows } = planOf(catalogue, first)
  const write = (plan: typeof rows) => readSql({ rows: plan, form, total: { _tag: "None" } })
  const renamed = Array.from({ length: different }, (_, n) => readOf(path(n + 1, `x${n}`)))
  const kept = newReads()
  const forgotten = newReads()
  // The statement made from a cached shape must equal the one planned for the query itself.
  const same = reads.every((one) => {
    const [cached, planned] = [kept, newReads()].map((by) => Result.getOrThrow(by.prepare(catalogue, one)).sql)
    return JSON.stringify(cached) === JSON.stringify(planned)
  })
  const costs = [
    cost(turns, (n) => parse(read(n).query)),
    cost(turns, () => planOf(catalogue, first, parsed)),
    cost(turns, () => write(rows)),
    cost(turns, (n) => write(planOf(catalogue, read(n)).rows)),
    cost(turns, (n) => forgotten.prepare(catalogue, renamed[n % different] ?? first)),
    cost(turns, (n) => kept.prepare(catalogue, read(n)))
  ]
  return { same, cells: [title, ...costs.map((one) => one.toFixed(1)), target === undefined ? "" : String(target)] }
}

/** Prints the table; returns whether cached shapes gave the correct SQL. */
export const measurePlans = async ({ socketUrl }: Service, quick: boolean) => {
  const catalogue = await readCatalogue(socketUrl)
  const rows = queries.map((query) => measured(catalogue, query, quick ? 3_000 : 10_000))
  console.log("\nplan: µs from the decoded query to SQL, without a database\n")
  const head = ["", "parse", "plan", "write", "all three", "first of its shape", "other literals", "target, all three"]
  printTable(
    head,
    rows.map(({ cells }) => cells),
    1
  )
  const same = rows.every((row) => row.same)
  if (!same) console.error("\nA cached shape gave different SQL than the query itself")
  return same
}
