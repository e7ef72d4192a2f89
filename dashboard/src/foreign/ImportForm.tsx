import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"

interface ImportFormProps {
  readonly server: string
  readonly step: boolean
  /** The schemas that `/v1/db` serves. */
  readonly served: ReadonlyArray<string>
  readonly onClose: () => void
  readonly onSaved: (tables: number) => void
}

/** Connects to the other database for the first time: a wrong host or password is reported here. */
export const ImportForm = ({ onClose, onSaved, served, server, step }: ImportFormProps) => {
  const [remote, setRemote] = useState("public")
  const [local, setLocal] = useState(served[0] ?? "public")
  const [checked, setChecked] = useState(false)
  const missing = (schema: string) => (checked && schema === "" ? "The name of a schema" : undefined)
  return (
    <FormDialog
      title={`Import tables of ${server}`}
      verb="Import tables"
      failed="No table was imported"
      waits
      run={() => {
        setChecked(true)
        return remote === "" || local === ""
          ? undefined
          : call("POST /api/fdw/import", {
              payload: { server, remote_schema: remote, local_schema: local }
            }).then(({ foreignTables }) => onSaved(foreignTables.length))
      }}
      onClose={onClose}
    >
      <p>
        {step ? "Step 3 of 3: " : ""}All tables and views of a schema there become foreign tables here, or none if one
        of the names is taken. Only service keys may use them until you grant more.
      </p>
      <Field
        label="Schema there"
        value={remote}
        autoComplete="off"
        spellCheck={false}
        problem={missing(remote)}
        onText={setRemote}
      />
      <Field
        label="Schema here"
        value={local}
        autoComplete="off"
        spellCheck={false}
        problem={missing(local)}
        hint={
          served.includes(local)
            ? "It is created if it is missing."
            : "It is created if it is missing. /v1/db serves it once it is in SVC_DB_SCHEMAS; until then its tables are for SQL only."
        }
        onText={setLocal}
      />
    </FormDialog>
  )
}
