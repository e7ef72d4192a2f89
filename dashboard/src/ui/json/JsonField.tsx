import type { ReactNode } from "react"
import { Labelled } from "../Field.tsx"

interface JsonFieldProps {
  readonly label: string
  readonly text: string
  readonly onText: (text: string) => void
  readonly problem?: string | undefined
  readonly hint?: ReactNode
  readonly rows?: number
}

/** A text of several lines, such as JSON or SQL. Tab leaves it, as it leaves every other field. */
export const JsonField = ({ onText, rows = 4, text, ...words }: JsonFieldProps) => (
  <Labelled {...words}>
    {(attributes) => (
      <textarea
        {...attributes}
        rows={Math.min(24, Math.max(rows, text.split("\n", 24).length))}
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onText(event.target.value)}
      />
    )}
  </Labelled>
)
