import { type ReactNode, useId } from "react"

interface JsonFieldProps {
  readonly label: string
  readonly text: string
  readonly onText: (text: string) => void
  readonly problem?: string | undefined
  readonly hint?: ReactNode
  readonly rows?: number
}

/** A text of several lines, such as JSON or SQL. Tab leaves it, as it leaves every other field. */
export const JsonField = ({ hint, label, onText, problem, rows = 4, text }: JsonFieldProps) => {
  const id = useId()
  const about = [hint === undefined ? "" : `${id}-hint`, problem === undefined ? "" : `${id}-problem`].join(" ").trim()
  return (
    <div className="labelled">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="field"
        rows={Math.min(24, Math.max(rows, text.split("\n", 24).length))}
        value={text}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={problem === undefined ? undefined : true}
        aria-describedby={about === "" ? undefined : about}
        onChange={(event) => onText(event.target.value)}
      />
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      {problem === undefined ? null : (
        <p id={`${id}-problem`} className="field-problem" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}
