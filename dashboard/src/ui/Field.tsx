import { type InputHTMLAttributes, type ReactNode, useId } from "react"

interface Words {
  readonly label: string
  readonly hint?: ReactNode
  /** What is wrong with the value; shown beside the control and announced. */
  readonly problem?: string | undefined
}

interface LabelledProps extends Words {
  /** The control, with the attributes that connect it to these words. */
  readonly children: (attributes: {
    readonly id: string
    readonly className: "field"
    readonly "aria-invalid": true | undefined
    readonly "aria-describedby": string | undefined
  }) => ReactNode
}

/** A control with its label, hint and problem. */
export const Labelled = ({ children, hint, label, problem }: LabelledProps) => {
  const id = useId()
  const about = [...(hint === undefined ? [] : [`${id}-hint`]), ...(problem === undefined ? [] : [`${id}-problem`])]
  return (
    <div className="labelled">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        className: "field",
        "aria-invalid": problem === undefined ? undefined : true,
        "aria-describedby": about.length === 0 ? undefined : about.join(" ")
      })}
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

interface FieldProps extends Words, Omit<InputHTMLAttributes<HTMLInputElement>, "id" | "onChange"> {
  readonly onText: (text: string) => void
}

/** An input. */
export const Field = ({ hint, label, onText, problem, ...input }: FieldProps) => (
  <Labelled label={label} hint={hint} problem={problem}>
    {(attributes) => <input {...input} {...attributes} onChange={(event) => onText(event.target.value)} />}
  </Labelled>
)

interface ChooseProps<Value extends string> extends Words {
  readonly value: Value
  /** Values with their words. */
  readonly options: ReadonlyArray<readonly [value: Value, words: string]>
  readonly onValue: (value: Value) => void
}

/** One of a few. */
export const Choose = <Value extends string>({ onValue, options, value, ...words }: ChooseProps<Value>) => (
  <Labelled {...words}>
    {(attributes) => (
      <select {...attributes} value={value} onChange={(event) => onValue(event.target.value as Value)}>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    )}
  </Labelled>
)

interface CheckProps {
  readonly checked: boolean
  readonly disabled?: boolean
  readonly children: ReactNode
  readonly onChange: (on: boolean) => void
}

export const Check = ({ checked, children, disabled = false, onChange }: CheckProps) => (
  <label>
    <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.target.checked)} />
    {children}
  </label>
)

interface SwitchProps {
  readonly checked: boolean
  /** Whether it needs attention while it is on, as what can destroy does. */
  readonly attention?: boolean
  readonly children: ReactNode
  readonly onChange: (on: boolean) => void
}

export const Switch = ({ attention = false, checked, children, onChange }: SwitchProps) => (
  <label className={`switch ${attention ? "attention" : ""}`}>
    <input type="checkbox" role="switch" checked={checked} onChange={(event) => onChange(event.target.checked)} />
    <span>{children}</span>
  </label>
)
