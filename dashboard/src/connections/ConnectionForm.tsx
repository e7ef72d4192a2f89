import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Connection = Wire["GET /api/connections/:id"]["success"]

interface ConnectionFormProps {
  /** Undefined: a new one. */
  readonly connection: Connection | undefined
  readonly onClose: () => void
  readonly onSaved: (connection: Connection) => void
}

/** Empty leaves the string of a saved connection as it is. A string from the list has no password, and must not replace it. */
const urlProblem = (url: string, isNew: boolean) =>
  url === ""
    ? isNew
      ? "A connection needs a string"
      : undefined
    : url.includes("****")
      ? "**** stands for a password that is not shown: write the password itself"
      : /^[a-z][a-z0-9+.-]*:\/\//i.test(url)
        ? undefined
        : "scheme://user:password@host:port/database"

export const ConnectionForm = ({ connection, onClose, onSaved }: ConnectionFormProps) => {
  const [name, setName] = useState(connection?.name ?? "")
  const [url, setUrl] = useState("")
  const [checked, setChecked] = useState(false)
  const nameProblem = name.trim() === "" ? "A connection needs a name" : undefined
  const wrongUrl = urlProblem(url, connection === undefined)
  const save = async () =>
    onSaved(
      connection === undefined
        ? await call("POST /api/connections/", { payload: { name, connection_url: url } })
        : await call("PATCH /api/connections/:id", {
            params: { id: connection.id },
            payload: { name, ...(url === "" ? {} : { connection_url: url }) }
          })
    )
  return (
    <FormDialog
      title={connection === undefined ? "Save a connection" : "Change the connection"}
      verb={connection === undefined ? "Save connection" : "Save"}
      failed="The connection was not saved"
      run={() => {
        setChecked(true)
        return nameProblem === undefined && wrongUrl === undefined ? save() : undefined
      }}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={name}
        maxLength={100}
        placeholder="shop database"
        problem={checked ? nameProblem : undefined}
        onText={setName}
      />
      <Field
        label="Connection string"
        value={url}
        maxLength={4096}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        placeholder={connection?.connection_url ?? "postgres://reader:secret@db.example.com:5432/shop"}
        problem={checked || url.includes("****") ? wrongUrl : undefined}
        hint={
          <>
            {connection === undefined ? "" : "Leave it empty to keep it. "}PostgreSQL, MySQL, MariaDB, MongoDB, Redis or
            SQL Server. Percent-encode <code>/ ? # @ %</code> in the password. It is stored encrypted and not shown
            again.
          </>
        }
        onText={setUrl}
      />
    </FormDialog>
  )
}
