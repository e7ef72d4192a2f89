import { Button } from "../../ui/Button.tsx"
import type { Outcome, Weights } from "./rule.ts"
import { evenly, withoutVariant, withWeight } from "./weights.ts"

interface OutcomeFieldsProps {
  readonly label: string
  readonly outcome: Outcome
  readonly variants: ReadonlyArray<string>
  /** Whether a variant can be named, which takes a condition before it. */
  readonly named: boolean
  readonly onOutcome: (outcome: Outcome) => void
}

const Split = ({
  onWeights,
  variants,
  weights
}: {
  weights: Weights
  variants: ReadonlyArray<string>
  onWeights: (weights: Weights) => void
}) => {
  const sum = weights.reduce((total, [, weight]) => total + weight, 0)
  const others = variants.filter((variant) => !weights.some(([name]) => name === variant))
  return (
    <div className="rule-split">
      <div className="rule-bar" aria-hidden="true">
        {weights.map(([variant, weight], at) => (
          <span key={at} className={`share${at % 4}`} style={{ flexGrow: weight }} title={`${variant} ${weight} %`} />
        ))}
      </div>
      {weights.map(([variant, weight], at) => (
        <div key={at} className="rule-share">
          <span className={`rule-dot share${at % 4}`} aria-hidden="true" />
          <b>{variant}</b>
          <input
            type="range"
            min={0}
            max={100}
            value={weight}
            aria-label={`Share of ${variant}`}
            aria-valuetext={`${weight} %`}
            onChange={(event) => onWeights(withWeight(weights, at, Number(event.target.value)))}
          />
          <input
            type="number"
            className="field"
            min={0}
            max={100}
            value={weight}
            aria-label={`Percent of ${variant}`}
            onChange={(event) => onWeights(withWeight(weights, at, Number(event.target.value)))}
          />
          %
          {weights.length === 1 ? null : (
            <Button
              kind="quiet"
              icon="x"
              label={`Take ${variant} out of the split`}
              onClick={() => onWeights(withoutVariant(weights, at))}
            />
          )}
        </div>
      ))}
      {others.length === 0 ? null : (
        <div className="rule-test">
          {others.map((variant) => (
            <Button key={variant} kind="quiet" icon="plus" onClick={() => onWeights([...weights, [variant, 0]])}>
              {variant}
            </Button>
          ))}
        </div>
      )}
      {sum === 100 ? null : <p className="field-problem">The shares sum to {sum} %, not 100 %.</p>}
    </div>
  )
}

const keyOf = (outcome: Outcome) => (outcome.tag === "variant" ? `variant ${outcome.name}` : outcome.tag)

/** What users get whose branch it is. */
export const OutcomeFields = ({ label, named, onOutcome, outcome, variants }: OutcomeFieldsProps) => {
  const names = outcome.tag === "variant" ? Array.from(new Set([...variants, outcome.name])) : variants
  const choose = (key: string) => {
    if (key === "default") onOutcome({ tag: "default" })
    else if (key === "split") onOutcome({ tag: "split", by: undefined, weights: evenly(variants) })
    else onOutcome({ tag: "variant", name: key.slice("variant ".length) })
  }
  return (
    <div className="rule-outcome">
      <div className="rule-test">
        <span>{label}</span>
        <select
          className="field"
          aria-label={`${label}: what users get`}
          value={keyOf(outcome)}
          onChange={(event) => choose(event.target.value)}
        >
          {named || outcome.tag === "variant"
            ? names.map((name) => (
                <option key={name} value={`variant ${name}`}>
                  {name}
                </option>
              ))
            : null}
          <option value="default">the default variant</option>
          <option value="split">a share of the users each</option>
        </select>
        {outcome.tag === "split" ? (
          <label className="rule-by">
            divided by
            <input
              className="field"
              placeholder="targetingKey"
              value={outcome.by ?? ""}
              autoComplete="off"
              spellCheck={false}
              onChange={(event) =>
                onOutcome({ ...outcome, by: event.target.value === "" ? undefined : event.target.value })
              }
            />
          </label>
        ) : null}
      </div>
      {outcome.tag === "split" ? (
        <Split
          weights={outcome.weights}
          variants={variants}
          onWeights={(weights) => onOutcome({ ...outcome, weights })}
        />
      ) : null}
    </div>
  )
}
