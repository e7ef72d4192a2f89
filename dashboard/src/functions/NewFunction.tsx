import { useState } from "react"
import { Field, Switch } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import { isName } from "./queries.ts"

const example = `Deno.serve(async (request) => {
  const { name = "world" } = await request.json().catch(() => ({}))
  console.log("called by", request.headers.get("x-svc-role"))
  return Response.json({ message: \`Hello \${name}!\` })
})
`

interface NewFunctionProps {
  readonly taken: ReadonlyArray<string>
  readonly onClose: () => void
  readonly onCreated: (name: string) => void
}

/** Deploys an example, which is edited from then on. */
export const NewFunction = ({ onClose, onCreated, taken }: NewFunctionProps) => {
  const [name, setName] = useState("")
  const [open, setOpen] = useState(false)
  const [checked, setChecked] = useState(false)
  const problem = !isName(name)
    ? "A letter, then letters, digits, _ and -, at most 63 characters"
    : taken.includes(name)
      ? "There is a function of this name"
      : undefined
  return (
    <FormDialog
      title="Create a function"
      verb="Create function"
      failed="The function was not created"
      run={() => {
        setChecked(true)
        if (problem !== undefined) return undefined
        const payload = { files: { "index.ts": example }, ...(open ? { verify_jwt: false } : {}) }
        return call("PUT /api/functions/:name", { params: { name }, payload }).then(() => onCreated(name))
      }}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={name}
        maxLength={63}
        spellCheck={false}
        placeholder="hello"
        hint={`It is called at /v1/functions/${isName(name) ? name : "name"}`}
        problem={checked ? problem : undefined}
        onText={setName}
      />
      <Switch checked={open} onChange={setOpen}>
        Callable at /functions/v1 without a key or a JWT, for webhooks of others
      </Switch>
    </FormDialog>
  )
}
