import { type KeyboardEvent, useLayoutEffect, useRef, useState } from "react"
import { ChoiceList, comboboxAttributes } from "../../ui/finder/ChoiceList.tsx"
import { useCombobox } from "../../ui/finder/combobox.ts"
import { isMod, mod } from "../../ui/keys.ts"
import { type GridColumn, isJson, isMonospaced } from "./columns.ts"
import { isMoment } from "./moments.ts"
import { canBeKey, useReferences } from "./references.ts"
import { written } from "./checks.ts"
import { editText } from "./values.ts"

/** `all`: all cells of the range get the value. */
export type Move = "stay" | "down" | "right" | "left" | "all"

interface CellEditorProps {
  readonly column: GridColumn
  readonly value: unknown
  /** The first character, if typing began the edit. */
  readonly typed: string | undefined
  readonly onDone: (value: unknown, move: Move) => void
  readonly onCancel: () => void
}

const heightOf = (text: string, json: boolean) =>
  json ? 180 : Math.min(160, 30 + 18 * (text.split("\n").length - 1 + Math.floor(text.length / 60)))

export const CellEditor = ({ column, onCancel, onDone, typed, value }: CellEditorProps) => {
  const begun = typed ?? editText(value, column.type)
  const [text, setText] = useState(begun)
  const [problem, setProblem] = useState("")
  const field = useRef<HTMLTextAreaElement & HTMLSelectElement & HTMLInputElement>(null)
  /** Giving the focus back blurs the field, and an edit must end only once. */
  const ended = useRef(false)
  const { foreign } = column
  const words = foreign === undefined || (text === begun && typed === undefined) ? "" : text.trim()
  const finder = useCombobox(useReferences(foreign, words), words, canBeKey(foreign))
  const json = isJson(column.type)

  useLayoutEffect(() => {
    field.current?.focus()
    if (typed === undefined) field.current?.select?.()
    else field.current?.setSelectionRange?.(typed.length, typed.length)
  }, [typed])

  const end = (run: () => void) => {
    if (ended.current) return
    ended.current = true
    run()
  }
  const cancel = () => end(onCancel)
  const keep = (given: unknown, move: Move) => end(() => onDone(given, move))
  const finish = (move: Move, given = text) => {
    // Left as it was: NULL stays NULL, although its text is empty.
    if (given === begun && typed === undefined) return move === "all" ? keep(value, move) : cancel()
    const result = written(given, column, value)
    if ("problem" in result)
      setProblem(foreign === undefined ? result.problem : `${result.problem}. Type a key, or choose a row with ↓`)
    else keep(column.type === "boolean" ? given === "true" : result.value, move)
  }
  const change = (next: string) => {
    setText(next)
    setProblem("")
  }
  const keys = (event: KeyboardEvent) => {
    event.stopPropagation()
    const { key } = event
    if (key === "Escape") {
      event.preventDefault()
      cancel()
    } else if (key === "Backspace" && isMod(event) && column.nullable) {
      event.preventDefault()
      keep(null, "stay")
    } else if (finder.onKey(event)) {
      setProblem("")
    } else if (key === "Enter" && !event.shiftKey && (!json || isMod(event))) {
      event.preventDefault()
      finish(isMod(event) ? "all" : "down", finder.key)
    } else if (key === "Tab") {
      event.preventDefault()
      finish(event.shiftKey ? "left" : "right", finder.key)
    }
  }
  const common = {
    ref: field,
    "aria-invalid": problem === "" ? undefined : true,
    value: text,
    onKeyDown: keys
  } as const
  const label = `${column.name}, ${column.type}`
  return (
    // oxlint-disable-next-line jsx-a11y/no-static-element-interactions -- keeps the grid from taking the press
    <div
      className="cell-editor"
      style={{ minWidth: Math.max(column.width, json ? 320 : foreign === undefined ? 0 : 260) + 1 }}
      onMouseDown={(event) => event.stopPropagation()}
    >
      {foreign !== undefined ? (
        <input
          {...common}
          className="mono"
          {...comboboxAttributes("reference-list", finder)}
          aria-label={`${column.name}, a row of ${foreign.references.table}`}
          spellCheck={false}
          onChange={(event) => change(event.target.value)}
          onBlur={() => finish("stay", finder.key)}
        />
      ) : column.values === undefined ? (
        <textarea
          {...common}
          className={isMonospaced(column.type) ? "mono" : ""}
          aria-label={label}
          spellCheck={false}
          style={{ height: heightOf(begun, json) }}
          onChange={(event) => change(event.target.value)}
          onBlur={() => finish("stay")}
        />
      ) : (
        <select {...common} aria-label={label} onChange={(event) => finish("stay", event.target.value)} onBlur={cancel}>
          {column.values.includes(text) ? null : <option value="">NULL</option>}
          {column.values.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
      {foreign === undefined ? null : (
        <ChoiceList
          id="reference-list"
          label={`Rows of ${foreign.references.table}`}
          choices={finder.choices}
          at={finder.at}
          onChoose={(key) => finish("stay", key)}
        />
      )}
      <small className={problem === "" ? "" : "bad"} role={problem === "" ? undefined : "alert"}>
        {problem === ""
          ? `${isMoment(column.type) ? "UTC · " : ""}${json ? `${mod}↵` : "↵"} keep · esc cancel${column.nullable ? ` · ${mod}⌫ NULL` : ""}`
          : problem}
      </small>
    </div>
  )
}
