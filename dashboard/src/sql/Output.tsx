import { Empty } from "../ui/Empty.tsx"
import { count } from "../ui/format.ts"
import { mod } from "../ui/keys.ts"
import { Problem } from "../ui/Problem.tsx"
import { codeOf } from "../wire/ApiError.ts"
import { Plan } from "./Plan.tsx"
import { ResultTable } from "./ResultTable.tsx"
import { planOf, type Result, type Sent } from "./run.ts"

export type Shown =
  | { readonly tag: "nothing" }
  | { readonly tag: "running" }
  | { readonly tag: "result"; readonly result: Result; readonly millis: number; readonly sent: Sent }
  | { readonly tag: "failure"; readonly error: unknown }

export const Output = ({ shown }: { shown: Shown }) => {
  switch (shown.tag) {
    case "nothing":
      return (
        <Empty icon="sql" title="Nothing has run yet">
          {mod}↵ runs the statement at the cursor, or what is selected. Names are completed as you type.
        </Empty>
      )
    case "running":
      return (
        <Empty icon="sql" title="Running…">
          Stop ends it in the database as well.
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
      const { result } = shown
      const plan = planOf(result)
      if (plan !== undefined) return <Plan plan={plan} />
      if (result.columns.length > 0) return <ResultTable result={result} />
      return (
        <Empty icon="check" title={result.command}>
          {result.rowCount === null ? "Done." : `${count(result.rowCount)} rows affected.`}
        </Empty>
      )
    }
  }
}
