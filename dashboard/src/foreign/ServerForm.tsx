import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import type { Server } from "./queries.ts"

interface ServerFormProps {
  readonly onClose: () => void
  readonly onSaved: (server: Server) => void
}

/** The first of three steps: where the other database is. */
export const ServerForm = ({ onClose, onSaved }: ServerFormProps) => {
  const [draft, setDraft] = useState({ name: "", host: "", port: "5432", dbname: "" })
  const [checked, setChecked] = useState(false)
  const change = (part: Partial<typeof draft>) => setDraft({ ...draft, ...part })
  const problems = {
    name: draft.name === "" ? "A server needs a name" : undefined,
    host: /^\S+$/.test(draft.host) ? undefined : "A host name or an address",
    port:
      /^\d{1,5}$/.test(draft.port) && Number(draft.port) >= 1 && Number(draft.port) <= 65_535
        ? undefined
        : "A port from 1 to 65535",
    dbname: draft.dbname === "" ? "The name of the database" : undefined
  }
  const shown: Partial<typeof problems> = checked ? problems : {}
  return (
    <FormDialog
      title="Add a foreign server"
      verb="Add server"
      failed="The server was not added"
      run={() => {
        setChecked(true)
        return Object.values(problems).every((problem) => problem === undefined)
          ? call("POST /api/fdw/server", { payload: draft }).then(onSaved)
          : undefined
      }}
      onClose={onClose}
    >
      <p>Step 1 of 3: another PostgreSQL, as the machine of this database reaches it. Nothing connects to it yet.</p>
      <Field
        label="Name"
        value={draft.name}
        placeholder="shop"
        autoComplete="off"
        problem={shown.name}
        hint="How SQL refers to it."
        onText={(name) => change({ name })}
      />
      <Field
        label="Host"
        value={draft.host}
        placeholder="db.example.com"
        autoComplete="off"
        spellCheck={false}
        problem={shown.host}
        onText={(host) => change({ host })}
      />
      <div className="foreign-pair">
        <Field
          label="Port"
          inputMode="numeric"
          value={draft.port}
          problem={shown.port}
          onText={(port) => change({ port })}
        />
        <Field
          label="Database"
          value={draft.dbname}
          placeholder="shop"
          autoComplete="off"
          spellCheck={false}
          problem={shown.dbname}
          onText={(dbname) => change({ dbname })}
        />
      </div>
    </FormDialog>
  )
}
