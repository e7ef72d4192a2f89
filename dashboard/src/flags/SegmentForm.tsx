import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { parseObject, prettyJson } from "../ui/json/json.ts"
import { call } from "../wire/call.ts"
import { parseFaithful } from "../wire/exact.ts"
import { ifMatch, type Segment, useSegments } from "./queries.ts"
import { ConditionFields } from "./rules/ConditionFields.tsx"
import { LogicField } from "./rules/LogicField.tsx"
import { type Condition, conditionJson, readCondition } from "./rules/rule.ts"
import { newTest } from "./rules/tests.ts"

interface SegmentFormProps {
  /** Undefined: a new segment. */
  readonly segment: Segment | undefined
  readonly onClose: () => void
  readonly onSaved: () => void
}

const example = { ends_with: [{ var: "email" }, "@example.com"] }

export const SegmentForm = ({ onClose, onSaved, segment }: SegmentFormProps) => {
  const [key, setKey] = useState(segment?.key ?? "")
  const [name, setName] = useState(segment?.name ?? "")
  const [description, setDescription] = useState(segment?.description ?? "")
  const [text, setText] = useState(() => prettyJson(segment?.rules ?? example))
  const rules = parseObject(text)
  const others = (useSegments().data ?? []).filter((one) => one.key !== segment?.key)
  const write = (next: Condition) => setText(prettyJson(conditionJson(next)))
  const condition = "value" in rules ? readCondition(parseFaithful(text)) : undefined
  const builder =
    condition === undefined ? undefined : condition === "none" ? (
      <div className="rule-test">
        <span className="soft">No user is in the segment yet.</span>
        <Button icon="plus" onClick={() => write(newTest)}>
          Condition
        </Button>
      </div>
    ) : (
      <ConditionFields condition={condition} segments={others} onCondition={write} />
    )
  const save = async (value: Segment["rules"]) => {
    const fields = { name, description: description === "" ? null : description, rules: value }
    await (segment === undefined
      ? call("POST /api/flags/segments", { payload: { key, ...fields } })
      : call("PUT /api/flags/segments/:key", {
          params: { key: segment.key },
          headers: ifMatch(segment.revision),
          payload: fields
        }))
    onSaved()
  }
  return (
    <FormDialog
      title={segment === undefined ? "Create a segment" : `Change ${segment.key}`}
      verb={segment === undefined ? "Create segment" : "Save segment"}
      failed="The segment was not saved"
      wide
      run={() => ("problem" in rules ? undefined : save(rules.value))}
      onClose={onClose}
    >
      {segment === undefined ? (
        <Field
          label="Key"
          value={key}
          placeholder="staff"
          autoComplete="off"
          spellCheck={false}
          hint="Letters, digits and . _ : - ; rules refer to it, so it can't be changed."
          onText={setKey}
        />
      ) : null}
      <Field label="Name" value={name} maxLength={100} onText={setName} />
      <Field label="Description" value={description} maxLength={2000} onText={setDescription} />
      <LogicField
        label="Rules"
        rows={6}
        text={text}
        problem={"problem" in rules ? rules.problem : undefined}
        hint="JsonLogic that is true for the users of the segment; {} matches no user."
        builder={builder}
        onText={setText}
      />
    </FormDialog>
  )
}
