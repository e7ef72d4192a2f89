import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import type { Flag } from "./queries.ts"

interface Start {
  readonly type: Flag["type"]
  readonly words: string
  readonly variants: Readonly<Record<string, unknown>>
  readonly defaultVariant: string
}

/** What a flag of each type begins with: its default variant is the one that changes nothing. */
const starts: ReadonlyArray<Start> = [
  { type: "boolean", words: "on or off", variants: { on: true, off: false }, defaultVariant: "off" },
  { type: "string", words: "a text, such as a colour", variants: { a: "a", b: "b" }, defaultVariant: "a" },
  { type: "number", words: "a number, such as a limit", variants: { low: 10, high: 100 }, defaultVariant: "low" },
  { type: "object", words: "a JSON object", variants: { a: {}, b: {} }, defaultVariant: "a" }
]

interface NewFlagProps {
  readonly onClose: () => void
  /** Opens the flag. */
  readonly onMade: (key: string) => Promise<void>
}

export const NewFlag = ({ onClose, onMade }: NewFlagProps) => {
  const client = useQueryClient()
  const [key, setKey] = useState("")
  const [description, setDescription] = useState("")
  const [start, setStart] = useState(starts[0] as Start)
  const save = async () => {
    const { defaultVariant, type, variants } = start
    const payload = { key, type, variants, defaultVariant, ...(description === "" ? {} : { description }) }
    await call("POST /api/flags/", { payload })
    await client.invalidateQueries({ queryKey: ["flags"] })
    toast("Flag created")
    await onMade(key)
  }
  return (
    <FormDialog title="Create a flag" verb="Create flag" failed="The flag was not created" run={save} onClose={onClose}>
      <Field
        label="Key"
        value={key}
        placeholder="new-checkout"
        autoComplete="off"
        spellCheck={false}
        hint="Letters, digits and . _ : - ; clients ask for it, so it can't be changed."
        onText={setKey}
      />
      <Field label="Description" value={description} maxLength={2000} onText={setDescription} />
      <fieldset className="choices">
        <legend>Type</legend>
        {starts.map((one) => (
          <label key={one.type}>
            <input type="radio" name="type" checked={start.type === one.type} onChange={() => setStart(one)} />
            <b>{one.type}</b> <span>{one.words}</span>
          </label>
        ))}
      </fieldset>
      <p className="hint">
        It starts enabled, without a rule, as <code>{start.defaultVariant}</code> for everyone. The type can&apos;t be
        changed; variants and rules can.
      </p>
    </FormDialog>
  )
}
