import { type ReactNode, useState } from "react"
import { Field, Labelled } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { call } from "../wire/call.ts"
import { changesOf, type Draft, draftOf, type Kind, newClient, problemsOf } from "./fields.ts"
import type { Client } from "./queries.ts"

interface ClientFormProps {
  /** Undefined: a new client. */
  readonly client: Client | undefined
  readonly onClose: () => void
  /** `secret`: of a new client that has one. */
  readonly onSaved: (client: Client, secret: string | null) => void
}

const kinds: ReadonlyArray<readonly [Kind, string, string]> = [
  ["server", "Web app with a server", "keeps a secret; its users sign in"],
  ["public", "App without a server", "single-page, mobile or desktop; PKCE instead of a secret"],
  ["machine", "Machine", "a program that acts for itself, with a secret"]
]

const Lines = ({
  onText,
  value,
  ...words
}: {
  label: string
  hint: ReactNode
  problem?: string | undefined
  value: string
  onText: (text: string) => void
}) => (
  <Labelled {...words}>
    {(attributes) => (
      <textarea
        {...attributes}
        rows={2}
        spellCheck={false}
        value={value}
        onChange={({ target }) => onText(target.value)}
      />
    )}
  </Labelled>
)

export const ClientForm = ({ client, onClose, onSaved }: ClientFormProps) => {
  const [kind, setKind] = useState<Kind>("server")
  const [draft, setDraft] = useState(() => draftOf(client))
  const [tried, setTried] = useState(false)
  const set = (name: keyof Draft) => (value: string) => setDraft((before) => ({ ...before, [name]: value }))
  const problems = problemsOf(client === undefined ? kind : undefined, draft)
  const users = client === undefined ? kind !== "machine" : client.grant_types.includes("authorization_code")
  const save = async () => {
    if (client !== undefined) {
      const changed = await call("PUT /api/oauth2/clients/:id", {
        params: { id: client.client_id },
        payload: changesOf(client, draft)
      })
      return onSaved(changed, null)
    }
    const { client_secret, ...made } = await call("POST /api/oauth2/clients", { payload: newClient(kind, draft) })
    onSaved(made, client_secret)
  }
  return (
    <FormDialog
      title={client === undefined ? "Register a client" : "Change the client"}
      verb={client === undefined ? "Register client" : "Save"}
      failed="The client was not saved"
      wide
      waits={client === undefined}
      run={() => {
        setTried(true)
        return Object.keys(problems).length > 0 ? undefined : save()
      }}
      onClose={onClose}
    >
      {client === undefined ? (
        <fieldset className="choices">
          <legend>Kind</legend>
          {kinds.map(([value, name, words]) => (
            <label key={value}>
              <input type="radio" name="kind" checked={kind === value} onChange={() => setKind(value)} />
              <b>{name}</b> <span>{words}</span>
            </label>
          ))}
        </fieldset>
      ) : null}
      <Field
        label="Name"
        value={draft.name}
        maxLength={200}
        placeholder="Web shop"
        hint="Users see it when they are asked for consent."
        onText={set("name")}
      />
      {users ? (
        <>
          <Lines
            label="Redirect URIs"
            hint="One a line, compared exactly. Codes are sent only there."
            problem={tried ? problems.redirects : undefined}
            value={draft.redirects}
            onText={set("redirects")}
          />
          <Lines
            label="Redirect URIs after signing out"
            hint="One a line, each on a host of the URIs above."
            value={draft.logouts}
            onText={set("logouts")}
          />
          <Lines
            label="Origins of web pages"
            hint="For single-page apps: such as https://app.example.com, one a line."
            value={draft.origins}
            onText={set("origins")}
          />
        </>
      ) : null}
      <Field
        label="Scopes"
        value={draft.scope}
        hint="What it may ask for, separated by spaces."
        onText={set("scope")}
      />
      {users ? (
        <>
          <label className="oauth-skip">
            <input
              type="checkbox"
              checked={draft.skipConsent}
              onChange={({ target }) => setDraft({ ...draft, skipConsent: target.checked })}
            />
            Do not ask users for consent
          </label>
          {draft.skipConsent ? (
            <p className="note">
              Only for your own apps: it gets everything that it requests, without a question to the user.
            </p>
          ) : null}
          <details>
            <summary>On the consent page</summary>
            <div className="oauth-more">
              <Field label="Logo" value={draft.logo} placeholder="https://…" onText={set("logo")} />
              <Field label="Terms of service" value={draft.terms} placeholder="https://…" onText={set("terms")} />
              <Field label="Privacy policy" value={draft.policy} placeholder="https://…" onText={set("policy")} />
            </div>
          </details>
        </>
      ) : null}
    </FormDialog>
  )
}
