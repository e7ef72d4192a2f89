import { useId } from "react"
import { type GridColumn, isJson } from "../grid/columns.ts"
import { isMoment } from "../grid/moments.ts"
import { ReferenceInput } from "../grid/ReferenceInput.tsx"

/** What is given for a column: nothing, so that its default applies; NULL; or a text. */
export type Given =
  | { readonly tag: "default" }
  | { readonly tag: "null" }
  | { readonly tag: "text"; readonly text: string }

export const nothing: Given = { tag: "default" }

interface ColumnFieldProps {
  readonly column: GridColumn
  readonly given: Given
  readonly problem: string | undefined
  /** Whether the row is there already, so that what is taken back is its value. */
  readonly stored?: boolean
  readonly onGive: (given: Given) => void
}

const placeholderOf = ({ default: standard, nullable }: GridColumn) =>
  standard === null ? (nullable ? "NULL" : "") : standard

/** A field for the value of one column. */
export const ColumnField = ({ column, given, onGive, problem, stored = false }: ColumnFieldProps) => {
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
  const required = !stored && !column.nullable && column.default === null && column.identity === null
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
        {given.tag === "default" || stored ? null : (
          <button type="button" className="link" aria-label={`Clear ${column.name}`} onClick={() => onGive(nothing)}>
            clear
          </button>
        )}
        {column.nullable && given.tag !== "null" && (stored || column.default !== null) ? (
          <button
            type="button"
            className="link"
            aria-label={`Set ${column.name} to NULL`}
            onClick={() => onGive({ tag: "null" })}
          >
            to NULL
          </button>
        ) : null}
      </p>
    </div>
  )
}
