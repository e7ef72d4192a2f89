import "./rules.css"
import { type ReactNode, useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { JsonField } from "../../ui/json/JsonField.tsx"

interface LogicFieldProps {
  readonly label: string
  readonly text: string
  readonly problem: string | undefined
  readonly hint: ReactNode
  readonly rows?: number
  /** Undefined: the builder can't show this text. */
  readonly builder: ReactNode | undefined
  readonly onText: (text: string) => void
}

/** JsonLogic, by a builder as far as that can show it, else as JSON. The text is never changed by being shown. */
export const LogicField = ({ builder, hint, label, onText, problem, rows = 8, text }: LogicFieldProps) => {
  const [asJson, setAsJson] = useState(false)
  const shown = !asJson && builder !== undefined
  return (
    <div className="rule-field" role="group" aria-label={label}>
      <div className="rule-mode">
        <b>{label}</b>
        <div className="segments">
          {([false, true] as const).map((json) => (
            <Button
              key={String(json)}
              kind={json === !shown ? "main" : "plain"}
              disabled={!json && builder === undefined}
              onClick={() => setAsJson(json)}
            >
              {json ? "JSON" : "Builder"}
            </Button>
          ))}
        </div>
      </div>
      {shown ? (
        builder
      ) : (
        <>
          {builder === undefined && problem === undefined ? (
            <p className="hint">The builder can&apos;t show all of this rule, so it is edited as JSON.</p>
          ) : null}
          <JsonField
            label={`${label} as JSON`}
            rows={rows}
            text={text}
            problem={problem}
            hint={hint}
            onText={(next) => {
              // While it is typed, it may become what the builder can show.
              setAsJson(true)
              onText(next)
            }}
          />
        </>
      )}
    </div>
  )
}
