import { Button } from "../../ui/Button.tsx"
import type { Segment } from "../queries.ts"
import { ConditionFields } from "./ConditionFields.tsx"
import { OutcomeFields } from "./OutcomeFields.tsx"
import type { Rule } from "./rule.ts"
import { newTest } from "./tests.ts"

interface RuleFieldsProps {
  readonly rule: Rule
  readonly variants: ReadonlyArray<string>
  readonly segments: ReadonlyArray<Segment>
  readonly onRule: (rule: Rule) => void
}

/** Attributes that contexts often have. */
const attributes = ["targetingKey", "email", "country", "version", "plan", "$flagd.timestamp"]

/** A rule as branches: the first whose condition is true decides. */
export const RuleFields = ({ onRule, rule, segments, variants }: RuleFieldsProps) => {
  const { branches, otherwise } = rule
  const setBranch = (at: number, part: Partial<Rule["branches"][number]>) =>
    onRule({ ...rule, branches: branches.map((branch, other) => (other === at ? { ...branch, ...part } : branch)) })
  const remove = (at: number) => {
    const left = branches.filter((_, other) => other !== at)
    // Without a condition no variant can be named: then the default variant is what all users get.
    const rest = left.length === 0 && otherwise.tag === "variant" ? ({ tag: "default" } as const) : otherwise
    onRule({ branches: left, otherwise: rest })
  }
  const swap = (at: number) => {
    const [one, other] = [branches[at - 1], branches[at]]
    if (one !== undefined && other !== undefined)
      onRule({ ...rule, branches: branches.with(at - 1, other).with(at, one) })
  }
  const add = () => {
    const name = variants[0]
    const result = name === undefined ? ({ tag: "default" } as const) : ({ tag: "variant", name } as const)
    onRule({ ...rule, branches: [...branches, { when: newTest, result }] })
  }
  return (
    <div className="rule">
      <datalist id="rule-attributes">
        {attributes.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {branches.map(({ result, when }, at) => (
        <section key={at} className="rule-branch" aria-label={`Branch ${at + 1}`}>
          <header>
            <b>{at === 0 ? "If" : "Else if"}</b>
            <span className="grow" />
            {at === 0 ? null : (
              <Button kind="quiet" icon="asc" label={`Move branch ${at + 1} up`} onClick={() => swap(at)} />
            )}
            <Button kind="quiet" icon="trash" label={`Remove branch ${at + 1}`} onClick={() => remove(at)} />
          </header>
          <ConditionFields condition={when} segments={segments} onCondition={(next) => setBranch(at, { when: next })} />
          <OutcomeFields
            label="they get"
            named
            outcome={result}
            variants={variants}
            onOutcome={(next) => setBranch(at, { result: next })}
          />
        </section>
      ))}
      <section className="rule-branch" aria-label="Otherwise">
        <OutcomeFields
          label={branches.length === 0 ? "All users get" : "All others get"}
          named={branches.length > 0}
          outcome={otherwise}
          variants={variants}
          onOutcome={(next) => onRule({ ...rule, otherwise: next })}
        />
      </section>
      <div>
        <Button icon="plus" onClick={add}>
          Branch
        </Button>
      </div>
    </div>
  )
}
