import { useState } from "react"
import type { Scalar } from "./rule.ts"

type Kind = "text" | "number" | "yes or no"
const kinds: ReadonlyArray<Kind> = ["text", "number", "yes or no"]
const kindOf = (value: Scalar): Kind =>
  typeof value === "number" ? "number" : typeof value === "boolean" ? "yes or no" : "text"

const converted = (value: Scalar, kind: Kind): Scalar => {
  if (kind === "text") return String(value)
  if (kind === "number") return Number.isFinite(Number(value)) ? Number(value) : 0
  return value === true || value === "true"
}

/** A value with its type: in JsonLogic, 18 and "18" are not the same. */
export const ScalarField = ({
  label,
  onValue,
  value
}: {
  value: Scalar
  label: string
  onValue: (value: Scalar) => void
}) => {
  /** What was typed for a number, which may not be one yet. */
  const [typed, setTyped] = useState<string>()
  const wrong = typed !== undefined && typeof value === "number" && (typed.trim() === "" || Number(typed) !== value)
  return (
    <span className="rule-value">
      {typeof value === "boolean" ? (
        <select
          className="field"
          aria-label={label}
          value={String(value)}
          onChange={(event) => onValue(event.target.value === "true")}
        >
          <option value="true">yes (true)</option>
          <option value="false">no (false)</option>
        </select>
      ) : (
        <input
          className="field"
          aria-label={label}
          aria-invalid={wrong || undefined}
          title={wrong ? "This is not a number" : undefined}
          value={typeof value === "number" ? (typed ?? String(value)) : value}
          autoComplete="off"
          spellCheck={false}
          onChange={({ target: { value: text } }) => {
            if (typeof value === "string") return onValue(text)
            setTyped(text)
            if (text.trim() !== "" && Number.isFinite(Number(text))) onValue(Number(text))
          }}
        />
      )}
      <select
        className="field"
        aria-label={`Type of ${label}`}
        value={kindOf(value)}
        onChange={(event) => {
          setTyped(undefined)
          onValue(converted(value, kinds.find((kind) => kind === event.target.value) ?? "text"))
        }}
      >
        {kinds.map((kind) => (
          <option key={kind}>{kind}</option>
        ))}
      </select>
    </span>
  )
}
