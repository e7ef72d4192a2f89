import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { parseObject, prettyJson } from "../ui/json/json.ts"
import { JsonField } from "../ui/json/JsonField.tsx"
import { Problem } from "../ui/Problem.tsx"
import { request } from "../wire/request.ts"
import type { Environment, Flag, JsonObject, Segment } from "./queries.ts"

interface EvaluateProps {
  readonly flag: Flag
  readonly environment: Environment
  readonly segments: ReadonlyArray<Segment>
  /** Undefined while it is not valid JSON. */
  readonly draft:
    | { readonly variants: JsonObject; readonly targeting: JsonObject; readonly defaultVariant: string }
    | undefined
  readonly dirty: boolean
}

interface Outcome {
  readonly variant?: string | null
  readonly value?: unknown
  readonly reason: string
  readonly errorDetails?: string
}

const reasons: Readonly<Record<string, string>> = {
  STATIC: "There is no rule: the default variant.",
  TARGETING_MATCH: "The rule returned this variant.",
  DEFAULT: "The rule returned null: the default variant.",
  DISABLED: "The flag is disabled: the default variant."
}

const Result = ({ name, outcome }: { name: string; outcome: Outcome }) => (
  <section className="flag-result" aria-label={name}>
    <h4>{name}</h4>
    {outcome.reason === "ERROR" ? (
      <p className="field-problem">{outcome.errorDetails}</p>
    ) : (
      <>
        <p>
          <b>{outcome.variant}</b> <span className="badge">{outcome.reason}</span>
        </p>
        <pre>{prettyJson(outcome.value ?? null)}</pre>
        <p className="hint">{reasons[outcome.reason]}</p>
      </>
    )}
  </section>
)

const example = '{\n  "targetingKey": "user-1",\n  "email": "ann@example.com"\n}'

/** What a user gets: by the flag as it is saved, and by the draft before anyone else gets it. */
export const Evaluate = ({ dirty, draft, environment, flag, segments }: EvaluateProps) => {
  const [text, setText] = useState(example)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const [results, setResults] = useState<{ readonly saved: Outcome; readonly draft: Outcome | undefined }>()
  const context = parseObject(text)
  const evaluate = async () => {
    if ("problem" in context) return
    setBusy(true)
    setFailure(undefined)
    try {
      const payload = { flagKey: flag.key, environment, context: context.value }
      const { body: saved } = await request<Outcome>("/api/flags/evaluate", { method: "POST", payload })
      // The evaluator is loaded when it is first used.
      const { evaluateDraft } = await import("./draft.ts")
      const { state } = flag.environments[environment]
      const own =
        draft === undefined
          ? undefined
          : evaluateDraft({ key: flag.key, state, ...draft }, context.value, environment, segments)
      // As /api/flags/evaluate answers for a disabled flag, where SDKs get no value.
      const disabled = { variant: draft?.defaultVariant ?? "", value: draft?.variants[draft.defaultVariant] }
      setResults({ saved, draft: own?.reason === "DISABLED" ? { ...own, ...disabled } : own })
    } catch (error) {
      setFailure(error)
    }
    setBusy(false)
  }
  return (
    <form
      className="card flag-evaluate"
      aria-label="Evaluate as"
      onSubmit={(event) => {
        event.preventDefault()
        void evaluate()
      }}
    >
      <h3>
        Evaluate as <small>what would this user get in {environment}?</small>
      </h3>
      <JsonField
        label="Context"
        text={text}
        problem={"problem" in context ? context.problem : undefined}
        hint={
          <>
            What a client sends. <code>targetingKey</code> identifies the user.
          </>
        }
        onText={setText}
      />
      <footer>
        <span className="grow" />
        <Button icon="play" type="submit" busy={busy}>
          Evaluate
        </Button>
      </footer>
      {failure === undefined ? null : <Problem error={failure} title="The flag could not be evaluated" />}
      <div aria-live="polite">
        {results === undefined ? null : (
          <>
            <Result name="As saved" outcome={results.saved} />
            {results.draft === undefined ? null : (
              <Result name={dirty ? "By the draft" : "By the draft, which is as saved"} outcome={results.draft} />
            )}
          </>
        )}
      </div>
    </form>
  )
}
