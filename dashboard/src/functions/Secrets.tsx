import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Confirm } from "../ui/Confirm.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { List } from "../ui/List.tsx"
import { When } from "../ui/page/When.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { useFeatures, useSecrets } from "./queries.ts"

interface SecretFormProps {
  /** Undefined: a new one. */
  readonly secret: string | undefined
  readonly onClose: () => void
  readonly onSaved: () => void
}

const SecretForm = ({ onClose, onSaved, secret }: SecretFormProps) => {
  const [name, setName] = useState(secret ?? "")
  const [value, setValue] = useState("")
  const [checked, setChecked] = useState(false)
  const problem = /^[A-Z][A-Z0-9_]{0,99}$/.test(name) ? undefined : "Capital letters, digits and _"
  return (
    <FormDialog
      title={secret === undefined ? "Set a secret" : `Replace ${secret}`}
      verb="Save"
      failed="The secret was not saved"
      run={() => {
        setChecked(true)
        if (problem !== undefined) return undefined
        return call("PUT /api/functions/secrets", { payload: { [name]: value } }).then(onSaved)
      }}
      onClose={onClose}
    >
      {secret === undefined ? (
        <Field
          label="Name"
          value={name}
          maxLength={100}
          spellCheck={false}
          placeholder="MAIL_TOKEN"
          problem={checked ? problem : undefined}
          onText={setName}
        />
      ) : null}
      <Field
        label="Value"
        type="password"
        autoComplete="off"
        value={value}
        maxLength={24_576}
        hint="It is stored encrypted and can't be shown again. Running functions start again with it."
        onText={setValue}
      />
    </FormDialog>
  )
}

/** The variables of the environment of all functions: their values can be set, never read. */
export const Secrets = () => {
  const client = useQueryClient()
  const secrets = useSecrets()
  const encrypts = useFeatures()?.encryption !== false
  const [open, setOpen] = useState<{ readonly change?: string | undefined; readonly remove?: string }>()
  const close = () => setOpen(undefined)
  const read = () => client.invalidateQueries({ queryKey: ["function-secrets"] })
  const rows = secrets.data ?? []
  return (
    <section className="part" aria-label="Secrets">
      <header>
        <h3>Secrets</h3>
        {encrypts ? (
          <Button icon="plus" onClick={() => setOpen({ change: undefined })}>
            Set secret
          </Button>
        ) : null}
      </header>
      {encrypts ? null : (
        <p className="note">
          Secrets need a key for their encryption: set <code>SVC_ENCRYPTION_KEY</code> and restart.
        </p>
      )}
      {secrets.isPending ? (
        <Skeleton lines={[100]} />
      ) : secrets.isLoadingError ? (
        <Problem error={secrets.error} title="The secrets could not be read" onRetry={() => void secrets.refetch()} />
      ) : rows.length === 0 ? (
        <p className="hint">No secrets. A function reads one by Deno.env.get(&quot;NAME&quot;).</p>
      ) : (
        <List
          label="Secrets"
          rows={rows}
          keyOf={({ name }) => name}
          columns={[
            { name: "Name", cell: ({ name }) => <code>{name}</code> },
            { name: "Set", cell: ({ updated_at }) => <When at={updated_at} /> },
            {
              name: "Actions",
              actions: true,
              cell: ({ name }) => (
                <>
                  <Button
                    kind="quiet"
                    label={`Replace ${name}`}
                    icon="refresh"
                    onClick={() => setOpen({ change: name })}
                  />
                  <Button
                    kind="quiet"
                    label={`Delete ${name}`}
                    icon="trash"
                    onClick={() => setOpen({ remove: name })}
                  />
                </>
              )
            }
          ]}
        />
      )}
      {open !== undefined && open.remove === undefined ? (
        <SecretForm
          secret={open.change}
          onClose={close}
          onSaved={() => {
            toast("Secret saved")
            void read()
            close()
          }}
        />
      ) : null}
      {open?.remove === undefined ? null : (
        <Confirm
          title={`Delete ${open.remove}?`}
          verb="Delete secret"
          onClose={close}
          run={async () => {
            await call("DELETE /api/functions/secrets/:secret", { params: { secret: open.remove ?? "" } })
            toast("Secret deleted")
            await read()
          }}
        >
          <p>Functions that read it start again without it. This can&apos;t be undone.</p>
        </Confirm>
      )}
    </section>
  )
}
