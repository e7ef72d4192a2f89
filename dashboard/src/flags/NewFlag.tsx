import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { Problem } from "../ui/Problem.tsx"
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

export const NewFlag = ({ onClose, onMade }: { onClose: () => void; onMade: (key: string) => void }) => {
  const client = useQueryClient()
  const [key, setKey] = useState("")
  const [description, setDescription] = useState("")
  const [start, setStart] = useState(starts[0] as Start)
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const save = async () => {
    setBusy(true)
    setFailure(undefined)
    const { defaultVariant, type, variants } = start
    try {
      const payload = { key, type, variants, defaultVariant, ...(description === "" ? {} : { description }) }
      await call("POST /api/flags/", { payload })
      await client.invalidateQueries({ queryKey: ["flags"] })
      toast("Flag created")
      onMade(key)
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <Dialog label="Create a flag" onClose={onClose}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <h2>Create a flag</h2>
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
        {failure === undefined ? null : <Problem error={failure} title="The flag was not created" />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={busy}>
            Create flag
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
