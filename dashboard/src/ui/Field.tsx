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

interface ChooseProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly value: string
  /** Values with their words. */
  readonly options: ReadonlyArray<readonly [value: string, words: string]>
  readonly onValue: (value: string) => void
}

/** One of a few, with its label and hint. */
export const Choose = ({ hint, label, onValue, options, value }: ChooseProps) => {
  const id = useId()
  return (
    <div className="labelled">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        className="field"
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onValue(event.target.value)}
      >
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
      {hint === undefined ? null : (
        <p id={`${id}-hint`} className="hint">
          {hint}
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
