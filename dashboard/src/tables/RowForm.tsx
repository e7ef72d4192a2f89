import { type FormEvent, useEffect, useId, useRef, useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Problem } from "../ui/Problem.tsx"
import { mayDiscard, useUnsaved } from "../ui/page/unsaved.ts"
import { request } from "../wire/request.ts"
import { type GridColumn, isJson, isMade, type Relation } from "./grid/columns.ts"
import { isMoment } from "./grid/moments.ts"
import { ReferenceInput } from "./grid/ReferenceInput.tsx"
import { written } from "./grid/checks.ts"
import { editText } from "./grid/values.ts"
import type { Row } from "./rows/identity.ts"

/** What is given for a column: nothing, so that its default applies; NULL; or a text. */
type Given = { readonly tag: "default" } | { readonly tag: "null" } | { readonly tag: "text"; readonly text: string }

const nothing: Given = { tag: "default" }

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

interface ColumnFieldProps {
  readonly column: GridColumn
  readonly given: Given
  readonly problem: string | undefined
  readonly onGive: (given: Given) => void
}

const placeholderOf = ({ default: standard, nullable }: GridColumn) =>
  standard === null ? (nullable ? "NULL" : "") : standard

const ColumnField = ({ column, given, onGive, problem }: ColumnFieldProps) => {
  const id = useId()
  const text = given.tag === "text" ? given.text : ""
  const give = (next: string) => onGive(next === "" && given.tag !== "text" ? nothing : { tag: "text", text: next })
  const common = {
    id,
    className: "field",
    value: text,
    "aria-invalid": problem === undefined ? undefined : true,
    "aria-describedby": problem === undefined ? undefined : `${id}-problem`,
    placeholder: given.tag === "null" ? "NULL" : placeholderOf(column)
  } as const
  const required = !column.nullable && column.default === null && column.identity === null
  return (
    <div className="labelled">
      <label htmlFor={id}>
        {column.name}
        {required ? <span className="required">required</span> : null}
        <code>{column.type}</code>
        {isMoment(column.type) ? <span className="faint">in UTC</span> : null}
      </label>
      {column.values !== undefined ? (
        <select
          {...common}
          onChange={(event) => onGive(event.target.value === "" ? nothing : { tag: "text", text: event.target.value })}
        >
          <option value="">{placeholderOf(column) === "" ? "Choose…" : placeholderOf(column)}</option>
          {column.values.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      ) : column.foreign !== undefined ? (
        <ReferenceInput common={common} foreign={column.foreign} id={id} text={text} onText={give} />
      ) : isJson(column.type) || column.type === "text" ? (
        <textarea
          {...common}
          rows={isJson(column.type) ? 4 : 1}
          spellCheck={false}
          onChange={(event) => give(event.target.value)}
        />
      ) : (
        <input {...common} spellCheck={false} autoComplete="off" onChange={(event) => give(event.target.value)} />
      )}
      <p className="field-foot">
        {problem === undefined ? null : (
          <span id={`${id}-problem`} className="field-problem">
            {problem}
          </span>
        )}
        {given.tag === "default" ? null : (
          <button type="button" className="link" aria-label={`Clear ${column.name}`} onClick={() => onGive(nothing)}>
            clear
          </button>
        )}
        {column.nullable && given.tag !== "null" && column.default !== null ? (
          <button
            type="button"
            className="link"
            aria-label={`Set ${column.name} to NULL`}
            onClick={() => onGive({ tag: "null" })}
          >
            set NULL
          </button>
        ) : null}
      </p>
    </div>
  )
}

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
