import { useEffect, useRef, useState } from "react"
import { Button } from "../ui/Button.tsx"
import type { GridColumn } from "./grid/columns.ts"
import { isMoment } from "./grid/moments.ts"
import { type Filter, filterValue, filterWords, operatorsOf } from "./rows/filters.ts"
import { groupText } from "./rows/keyset.ts"

interface FilterFormProps {
  readonly columns: ReadonlyArray<GridColumn>
  readonly onAdd: (filter: Filter) => void
}

/** One condition. A column with a closed list of values offers them. */
export const FilterForm = ({ columns, onAdd }: FilterFormProps) => {
  const [name, setName] = useState(columns[0]?.name ?? "")
  const [operator, setOperator] = useState("eq")
  const [value, setValue] = useState("")
  /** Conditions of which one must hold, beside the one that is written. */
  const [others, setOthers] = useState<ReadonlyArray<Filter>>([])
  const first = useRef<HTMLSelectElement>(null)
  // The popover was there before the form was.
  useEffect(() => {
    first.current?.focus()
  }, [])
  const column = columns.find((one) => one.name === name)
  const choices = column?.values
  const operators = operatorsOf(column)
  const bare = operators.find(({ key }) => key === operator)?.bare === true
  const closed = choices !== undefined && !bare && (operator === "eq" || operator === "neq")
  const current = (): Filter => [name, filterValue(operator, value, column?.type)]
  return (
    <form
      className="filter-form"
      onSubmit={(event) => {
        event.preventDefault()
        onAdd(others.length === 0 ? current() : ["or", groupText([...others, current()])])
      }}
    >
      <select
        ref={first}
        className="field"
        aria-label="Column"
        value={name}
        onChange={({ target }) => {
          const next = columns.find((one) => one.name === target.value)
          setName(target.value)
          setValue("")
          if (!operatorsOf(next).some(({ key }) => key === operator)) setOperator("eq")
        }}
      >
        {columns.map((one) => (
          <option key={one.name}>{one.name}</option>
        ))}
      </select>
      <select
        className="field"
        aria-label="Condition"
        value={operator}
        onChange={(event) => setOperator(event.target.value)}
      >
        {operators.map(({ key, words }) => (
          <option key={key} value={key}>
            {words}
          </option>
        ))}
      </select>
      {closed ? (
        <select
          className="field"
          aria-label="Value"
          required
          value={value}
          onChange={(event) => setValue(event.target.value)}
        >
          <option value="">Choose…</option>
          {choices.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : (
        <input
          className="field"
          aria-label="Value"
          placeholder={
            bare
              ? "No value needed"
              : operator === "in"
                ? "a, b, c"
                : isMoment(column?.type ?? "")
                  ? "Value, in UTC"
                  : "Value"
          }
          disabled={bare}
          value={value}
          onChange={(event) => setValue(event.target.value)}
        />
      )}
      <Button
        icon="plus"
        onClick={() => {
          setOthers([...others, current()])
          setValue("")
          first.current?.focus()
        }}
      >
        Or…
      </Button>
      <Button kind="main" type="submit">
        Apply
      </Button>
      {others.length === 0 ? null : (
        <p className="hint filter-others" role="status">
          Any of:{" "}
          {others
            .map(([name, value]) => [name, ...filterWords(value)].filter((part) => part !== "").join(" "))
            .join("; ")}
          ; or this condition.
        </p>
      )}
    </form>
  )
}
