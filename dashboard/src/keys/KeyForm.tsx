import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type ApiKey = Wire["GET /api/keys/"]["success"][number]

interface KeyFormProps {
  /** Undefined: a new key. */
  readonly apiKey: ApiKey | undefined
  readonly onClose: () => void
  /** `secret`: of a new key. */
  readonly onSaved: (secret: string | undefined, type: ApiKey["key_type"]) => void
}

const classes: ReadonlyArray<readonly [ApiKey["key_type"], string]> = [
  ["anon", "for apps; row-level security applies"],
  ["service_role", "for servers; all rights"]
]

export const KeyForm = ({ apiKey, onClose, onSaved }: KeyFormProps) => {
  const [type, setType] = useState<ApiKey["key_type"]>(apiKey?.key_type ?? "anon")
  const [label, setLabel] = useState(apiKey?.label ?? "")
  const [limit, setLimit] = useState(String(apiKey?.rate_limit ?? ""))
  const rate_limit = limit.trim() === "" ? null : Number(limit)
  const problem =
    rate_limit === null || (Number.isInteger(rate_limit) && rate_limit >= 1 && rate_limit <= 2_147_483_647)
      ? undefined
      : "A whole number of at least 1, or nothing"
  const save = async () => {
    if (apiKey === undefined) {
      const { secret } = await call("POST /api/keys/", { payload: { keyType: type, label, rate_limit } })
      onSaved(secret, type)
    } else {
      await call("PATCH /api/keys/:id", { params: { id: apiKey.id }, payload: { label, rate_limit } })
      onSaved(undefined, type)
    }
  }
  return (
    <FormDialog
      title={apiKey === undefined ? "Create a key" : "Change the key"}
      verb={apiKey === undefined ? "Create key" : "Save"}
      failed="The key was not saved"
      run={() => (problem === undefined ? save() : undefined)}
      onClose={onClose}
    >
      {apiKey === undefined ? (
        <fieldset className="choices">
          <legend>Class</legend>
          {classes.map(([name, words]) => (
            <label key={name}>
              <input type="radio" name="class" checked={type === name} onChange={() => setType(name)} />
              <b>{name}</b> <span>{words}</span>
            </label>
          ))}
        </fieldset>
      ) : null}
      <Field
        label="Label"
        value={label}
        maxLength={100}
        placeholder="web app"
        hint="Who uses it. It is recorded with changes that are made by this key."
        onText={setLabel}
      />
      <Field
        label="Requests per minute"
        inputMode="numeric"
        value={limit}
        placeholder="unlimited"
        problem={problem}
        onText={setLimit}
      />
    </FormDialog>
  )
}
