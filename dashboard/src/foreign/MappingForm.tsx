import { useState } from "react"
import { Choose, Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"

interface MappingFormProps {
  readonly server: string
  /** Whether it follows the creation of the server. */
  readonly step: boolean
  readonly onClose: () => void
  readonly onSaved: () => void
}

const locals = [
  ["current_user", "service keys and the dashboard"],
  ["authenticated", "authenticated: signed-in users"],
  ["anon", "anon: anon keys"],
  ["PUBLIC", "PUBLIC: every role without a login of its own"]
] as const

/** With which user a role of this database signs in to the other one. */
export const MappingForm = ({ onClose, onSaved, server, step }: MappingFormProps) => {
  const [draft, setDraft] = useState({
    local_user: "current_user" as (typeof locals)[number][0],
    remote_user: "",
    remote_password: ""
  })
  const [checked, setChecked] = useState(false)
  const change = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part })
  const problem = draft.remote_user === "" ? "A user of the other database" : undefined
  return (
    <FormDialog
      title={`Add a login to ${server}`}
      verb="Add login"
      failed="The login was not added"
      run={() => {
        setChecked(true)
        return problem === undefined
          ? call("POST /api/fdw/user-mapping", { payload: { server, ...draft } }).then(onSaved)
          : undefined
      }}
      onClose={onClose}
    >
      <p>
        {step ? "Step 2 of 3: the server was added. " : ""}PostgreSQL keeps the password in its catalogue, where
        superusers can read it, and backups contain it. It is not shown again.
      </p>
      <Choose
        label="For"
        value={draft.local_user}
        options={locals}
        hint={
          draft.local_user === "current_user"
            ? undefined
            : "The role also needs a grant on each table, and then sees all rows: foreign tables have no row-level security."
        }
        onValue={(local_user) => change({ local_user })}
      />
      <Field
        label="User"
        value={draft.remote_user}
        placeholder="reader"
        autoComplete="off"
        spellCheck={false}
        problem={checked ? problem : undefined}
        hint="A user that may only read protects the other database from mistakes here."
        onText={(remote_user) => change({ remote_user })}
      />
      <Field
        label="Password"
        type="password"
        value={draft.remote_password}
        maxLength={1000}
        autoComplete="new-password"
        onText={(remote_password) => change({ remote_password })}
      />
    </FormDialog>
  )
}
