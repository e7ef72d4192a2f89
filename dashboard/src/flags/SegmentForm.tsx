import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { parseObject, prettyJson } from "../ui/json/json.ts"
import { JsonField } from "../ui/json/JsonField.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import { ifMatch, type Segment } from "./queries.ts"

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
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const rules = parseObject(text)
  const save = async () => {
    if ("problem" in rules) return
    setBusy(true)
    setFailure(undefined)
    const fields = { name, description: description === "" ? null : description, rules: rules.value }
    try {
      await (segment === undefined
        ? call("POST /api/flags/segments", { payload: { key, ...fields } })
        : call("PUT /api/flags/segments/:key", {
            params: { key: segment.key },
            headers: ifMatch(segment.revision),
            payload: fields
          }))
      onSaved()
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  const title = segment === undefined ? "Create a segment" : `Change ${segment.key}`
  return (
    <Dialog label={title} className="wide" onClose={onClose}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <h2>{title}</h2>
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
        <JsonField
          label="Rules"
          rows={6}
          text={text}
          problem={"problem" in rules ? rules.problem : undefined}
          hint="JsonLogic that is true for the users of the segment; {} matches no user."
          onText={setText}
        />
        {failure === undefined ? null : <Problem error={failure} title="The segment was not saved" />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={busy}>
            {segment === undefined ? "Create segment" : "Save segment"}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
