import { Button } from "../../ui/Button.tsx"
import type { Segment } from "../queries.ts"
import { type Condition, type Group, type Test, versionOperators } from "./rule.ts"
import { ScalarField } from "./ScalarField.tsx"
import { attributeOf, choices, keyOf, newTest, testOf } from "./tests.ts"

interface TestFieldsProps {
  readonly test: Test
  readonly segments: ReadonlyArray<Segment>
  readonly onTest: (test: Test) => void
}

const Operand = ({ onTest, segments, test }: TestFieldsProps) => {
  switch (test.tag) {
    case "compare":
      return test.operator.endsWith("_with") && typeof test.value === "string" ? (
        <input
          className="field"
          aria-label="Value"
          value={test.value}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onTest({ ...test, value: event.target.value })}
        />
      ) : (
        <ScalarField label="Value" value={test.value} onValue={(value) => onTest({ ...test, value })} />
      )
    case "contains":
      return (
        <input
          className="field"
          aria-label="Text"
          value={test.text}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onTest({ ...test, text: event.target.value })}
        />
      )
    case "oneOf":
      return (
        <span className="rule-values">
          {test.values.map((value, at) => (
            <span key={at} className="rule-value">
              <ScalarField
                label={`Value ${at + 1}`}
                value={value}
                onValue={(next) => onTest({ ...test, values: test.values.with(at, next) })}
              />
              <Button
                kind="quiet"
                icon="x"
                label={`Remove value ${at + 1}`}
                onClick={() => onTest({ ...test, values: test.values.filter((_, other) => other !== at) })}
              />
            </span>
          ))}
          <Button kind="quiet" icon="plus" onClick={() => onTest({ ...test, values: [...test.values, ""] })}>
            Value
          </Button>
        </span>
      )
    case "version":
      return (
        <span className="rule-value">
          <select
            className="field"
            aria-label="Version operator"
            value={test.operator}
            onChange={(event) =>
              onTest({ ...test, operator: versionOperators.find((one) => one === event.target.value) ?? "=" })
            }
          >
            {versionOperators.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <input
            className="field"
            aria-label="Version"
            value={test.version}
            placeholder="1.2.0"
            autoComplete="off"
            onChange={(event) => onTest({ ...test, version: event.target.value })}
          />
        </span>
      )
    case "segment":
      return (
        <select
          className="field"
          aria-label="Segment"
          value={test.key}
          onChange={(event) => onTest({ ...test, key: event.target.value })}
        >
          {/* One that is not there any more remains until another is chosen: the server then says so. */}
          {Array.from(new Set([...segments.map(({ key }) => key), test.key]), (key) => (
            <option key={key}>{key}</option>
          ))}
        </select>
      )
    default:
      return null
  }
}

const TestFields = ({ onTest, segments, test }: TestFieldsProps) => (
  <>
    {test.tag === "segment" ? null : (
      <input
        className="field rule-attribute"
        aria-label="Attribute"
        placeholder="email"
        list="rule-attributes"
        value={attributeOf(test)}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onTest({ ...test, attribute: event.target.value })}
      />
    )}
    <select
      className="field"
      aria-label="Comparison"
      value={keyOf(test)}
      onChange={(event) => onTest(testOf(event.target.value, test, segments[0]?.key ?? ""))}
    >
      {choices.map(({ key, words }) => (
        <option key={key} value={key}>
          {words}
        </option>
      ))}
    </select>
    <Operand test={test} segments={segments} onTest={onTest} />
  </>
)

interface ConditionFieldsProps {
  readonly condition: Condition
  readonly segments: ReadonlyArray<Segment>
  /** Groups around it. */
  readonly level?: number
  readonly onCondition: (condition: Condition) => void
  /** Undefined: it is the only one. */
  readonly onRemove?: (() => void) | undefined
}

const isGroup = (condition: Condition): condition is Group => condition.tag === "and" || condition.tag === "or"
/** Groups in groups that can be made here. */
const mostLevels = 2

/** A test, or several of which all or any must be true. */
export const ConditionFields = (props: ConditionFieldsProps) => {
  const { condition, level = 0, onCondition, onRemove, segments } = props
  const remove =
    onRemove === undefined ? null : (
      <Button kind="quiet" icon="trash" label="Remove this condition" onClick={onRemove} />
    )
  if (!isGroup(condition)) {
    return (
      <div className="rule-test" role="group" aria-label="Condition">
        <TestFields test={condition} segments={segments} onTest={onCondition} />
        <span className="rule-actions">
          {level >= mostLevels ? null : (
            <Button kind="quiet" icon="plus" onClick={() => onCondition({ tag: "and", all: [condition, newTest] })}>
              {level === 0 ? "Condition" : "Group"}
            </Button>
          )}
          {remove}
        </span>
      </div>
    )
  }
  const { all } = condition
  const without = (at: number) => {
    const left = all.filter((_, other) => other !== at)
    const [only] = left
    onCondition(left.length === 1 && only !== undefined ? only : { ...condition, all: left })
  }
  return (
    <div className="rule-group" role="group" aria-label={condition.tag === "and" ? "All of" : "Any of"}>
      <div className="rule-test">
        <select
          className="field"
          aria-label="How many must be true"
          value={condition.tag}
          onChange={(event) => onCondition({ ...condition, tag: event.target.value === "and" ? "and" : "or" })}
        >
          <option value="and">all of these</option>
          <option value="or">any of these</option>
        </select>
        <span className="rule-actions">{remove}</span>
      </div>
      {all.map((one, at) => (
        <ConditionFields
          key={at}
          condition={one}
          segments={segments}
          level={level + 1}
          onCondition={(next) => onCondition({ ...condition, all: all.with(at, next) })}
          onRemove={all.length === 1 ? undefined : () => without(at)}
        />
      ))}
      <Button kind="quiet" icon="plus" onClick={() => onCondition({ ...condition, all: [...all, newTest] })}>
        Condition
      </Button>
    </div>
  )
}
