import { lazy, Suspense } from "react"
import { Empty } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { mod } from "../ui/keys.ts"
import { Problem } from "../ui/Problem.tsx"
import { codeOf } from "../wire/ApiError.ts"
import type { Choice } from "./chart/columns.ts"
import { Plan } from "./Plan.tsx"
import { ResultTable } from "./result/ResultTable.tsx"
import type { Result } from "./result/rows.ts"
import { type Outcome, planOf } from "./run.ts"

const Chart = lazy(async () => ({ default: (await import("./chart/Chart.tsx")).Chart }))

/** What the last run of a query came to. */
export type Shown =
  | { readonly tag: "nothing" }
  | ({ readonly tag: "result"; readonly chosen: number } & Outcome)
  | { readonly tag: "failure"; readonly error: unknown }

/** The result that is in view, of those of several statements. */
export const resultOf = (shown: Shown): Result | undefined =>
  shown.tag === "result" ? shown.results[shown.chosen] : undefined

/** Whether a result has rows that a chart can show. */
export const hasRows = (result: Result) => result.columns.length > 0 && planOf(result) === undefined

interface OutputProps {
  readonly shown: Shown
  readonly running: boolean
  readonly chart: Choice
  readonly onChart: (chart: Choice) => void
}

export const Output = ({ chart, onChart, running, shown }: OutputProps) => {
  switch (shown.tag) {
    case "nothing":
      return running ? (
        <Empty icon="sql" title="Running…">
          Stop ends it in the database as well.
        </Empty>
      ) : (
        <Empty icon="sql" title="Nothing has run yet">
          {mod}↵ runs the statement at the cursor, or what is selected. Names are completed as you type.
        </Empty>
      )
    case "failure": {
      const refused = codeOf(shown.error) === "25006"
      return (
        <Problem error={shown.error} title={refused ? "Nothing was written" : "PostgreSQL refused the statement"}>
          {refused ? <p className="hint">Statements here only read, until you switch on “Allow writes”.</p> : null}
        </Problem>
      )
    }
    case "result": {
      const result = resultOf(shown)
      if (result === undefined) return null
      const plan = planOf(result)
      if (plan !== undefined) return <Plan plan={plan} />
      if (hasRows(result) && chart.on)
        return (
          <Suspense>
            <Chart result={result} choice={chart} onChoose={onChart} />
          </Suspense>
        )
      if (hasRows(result)) return <ResultTable result={result} />
      return (
        <Empty icon="check" title={result.command}>
          {result.rowCount === null ? "Done." : `${plural(result.rowCount, "row")} affected.`}
        </Empty>
      )
    }
  }
}
