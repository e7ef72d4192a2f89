import { useEffect, useRef } from "react"
import { Labelled } from "../ui/Field.tsx"
import { isMod } from "../ui/keys.ts"
import type { Values } from "../ui/page/queries.ts"

interface ParametersProps {
  readonly numbers: ReadonlyArray<number>
  readonly values: Values
  /** How often the statement was not run because a value is missing. */
  readonly refused: number
  /** Undefined: the value is missing. */
  readonly onGive: (number: number, value: string | null | undefined) => void
  readonly onRun: (explain: boolean) => void
}

const words = (value: string | null | undefined) =>
  value === undefined ? "no value yet" : value === null ? "NULL" : "EMPTY"

/** The values of a statement's parameters. NULL, an empty text and no value are three things. */
export const Parameters = ({ numbers, onGive, onRun, refused, values }: ParametersProps) => {
  const fields = useRef<HTMLFieldSetElement>(null)
  useEffect(() => {
    if (refused > 0) fields.current?.querySelector<HTMLElement>("[aria-invalid]")?.focus()
  }, [refused])
  return (
    <fieldset ref={fields} className="parameters">
      <legend className="sr">Parameters</legend>
      {numbers.map((number) => {
        const value = values[number]
        const choice = (name: string, label: string, choose: string | null) => (
          <button
            type="button"
            className="link"
            aria-label={label}
            aria-pressed={value === choose}
            onClick={() => onGive(number, value === choose ? undefined : choose)}
          >
            {name}
          </button>
        )
        return (
          <div key={number} className="parameter">
            <Labelled
              label={`$${number}`}
              problem={refused > 0 && value === undefined ? "Enter a value, or choose NULL or empty" : undefined}
            >
              {(attributes) => (
                <textarea
                  {...attributes}
                  rows={1}
                  spellCheck={false}
                  value={value ?? ""}
                  placeholder={words(value)}
                  onChange={(event) => onGive(number, event.target.value)}
                  onKeyDown={(event) => {
                    if (event.key !== "Enter" || !isMod(event)) return
                    event.preventDefault()
                    onRun(event.shiftKey)
                  }}
                />
              )}
            </Labelled>
            {choice("NULL", `$${number} is NULL`, null)}
            {choice("empty", `$${number} is the empty text`, "")}
          </div>
        )
      })}
    </fieldset>
  )
}
