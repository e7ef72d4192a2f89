import { type FormEvent, useEffect, useRef, useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { mayDiscard, useUnsaved } from "../../ui/page/unsaved.ts"
import { request } from "../../wire/request.ts"
import { type GridColumn, isMade, type Relation } from "../grid/columns.ts"
import { written } from "../grid/checks.ts"
import { editText } from "../grid/values.ts"
import type { Row } from "../rows/identity.ts"
import { ColumnField, type Given, nothing } from "./ColumnField.tsx"

/** The values of a row, without those that only the database makes or that must differ. */
const valuesLike = (row: Row, columns: ReadonlyArray<GridColumn>): Readonly<Record<string, Given>> =>
  Object.fromEntries(
    columns
      .filter((column) => !isMade(column) && !column.key)
      .map(({ name, type }) => [
        name,
        row[name] === null ? { tag: "null" } : { tag: "text", text: editText(row[name], type) }
      ])
  )

interface RowFormProps {
  readonly relation: Relation
  readonly columns: ReadonlyArray<GridColumn>
  /** A row whose values the new one begins with. */
  readonly like: Row | undefined
  /** Whether something would be lost if it was closed. */
  readonly onTyped: (typed: boolean) => void
  readonly onSaved: () => void
  readonly onClose: () => void
}

/** A new row. A column that is left alone gets its default, which is not the same as NULL. */
export const RowForm = ({ columns, like, onClose, onSaved, onTyped, relation }: RowFormProps) => {
  const [begun] = useState(() => (like === undefined ? {} : valuesLike(like, columns)))
  const [given, setGiven] = useState<Readonly<Record<string, Given>>>(begun)
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [failure, setFailure] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const panel = useRef<HTMLElement>(null)
  const usable = columns.filter((column) => !isMade(column))
  const typed = given !== begun && Object.values(given).some(({ tag }) => tag !== "default")
  useUnsaved(typed ? "Leave and discard the new row?" : undefined, true)
  useEffect(() => onTyped(typed), [typed, onTyped])
  const leave = async () => {
    if (await mayDiscard(typed, "the new row")) onClose()
  }
  useEffect(() => {
    panel.current?.querySelector<HTMLElement>("input,select,textarea")?.focus()
  }, [])

  const valuesOf = () => {
    const values: Record<string, unknown> = {}
    const wrong: Record<string, string> = {}
    for (const column of usable) {
      const one = given[column.name] ?? nothing
      if (one.tag === "null") values[column.name] = null
      if (one.tag !== "text") continue
      const result = written(one.text, column, like?.[column.name])
      if ("problem" in result) wrong[column.name] = result.problem
      else values[column.name] = column.type === "boolean" ? one.text === "true" : result.value
    }
    setProblems(wrong)
    return Object.keys(wrong).length === 0 ? values : undefined
  }
  const save = async (another: boolean) => {
    const values = valuesOf()
    if (values === undefined || busy) return
    setBusy(true)
    setFailure(undefined)
    try {
      await request(`/v1/db/${encodeURIComponent(relation.name)}`, {
        method: "POST",
        payload: values,
        headers: { "content-profile": relation.schema, prefer: "return=minimal" }
      })
      onSaved()
      if (!another) return onClose()
      setGiven(begun)
      panel.current?.querySelector<HTMLElement>("input,select,textarea")?.focus()
    } catch (error) {
      setFailure(error)
    }
    setBusy(false)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    void save(false)
  }
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes it from within
    <aside
      ref={panel}
      className="panel"
      aria-label={`Insert into ${relation.name}`}
      onKeyDown={(event) => {
        if (event.key === "Escape") void leave()
      }}
    >
      <header>
        <h2>Insert into {relation.name}</h2>
        <Button kind="quiet" icon="x" label="Close" onClick={() => void leave()} />
      </header>
      <form className="panel-body" onSubmit={submit}>
        {usable.map((column) => (
          <ColumnField
            key={column.name}
            column={column}
            given={given[column.name] ?? nothing}
            problem={problems[column.name]}
            onGive={(next) => setGiven({ ...given, [column.name]: next })}
          />
        ))}
        {failure === undefined ? null : <Problem error={failure} title="The row was not inserted" />}
        <footer>
          <Button onClick={() => void save(true)}>Save and new</Button>
          <Button kind="main" type="submit" busy={busy}>
            Save
          </Button>
        </footer>
      </form>
    </aside>
  )
}
