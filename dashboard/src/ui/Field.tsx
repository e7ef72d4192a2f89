import { type InputHTMLAttributes, type ReactNode, useId } from "react"

interface FieldProps extends Omit<InputHTMLAttributes<HTMLInputElement>, "id" | "onChange"> {
  readonly label: string
  readonly hint?: ReactNode
  /** What is wrong with the value; shown beside the field and announced. */
  readonly problem?: string | undefined
  readonly onText: (text: string) => void
}

/** An input with its label, hint and problem. */
export const Field = ({ hint, label, onText, problem, ...input }: FieldProps) => {
  const id = useId()
  const about = [hint === undefined ? "" : `${id}-hint`, problem === undefined ? "" : `${id}-problem`].join(" ").trim()
  return (
    <div className="labelled">
      <label htmlFor={id}>{label}</label>
      <input
        {...input}
        id={id}
        className="field"
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

interface SwitchProps {
  readonly checked: boolean
  readonly children: ReactNode
  readonly onChange: (on: boolean) => void
}

export const Switch = ({ checked, children, onChange }: SwitchProps) => (
  <label className="switch">
    <input type="checkbox" role="switch" checked={checked} onChange={(event) => onChange(event.target.checked)} />
    <span>{children}</span>
  </label>
)
