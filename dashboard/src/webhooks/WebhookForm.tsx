import { useState } from "react"
import { useWatchable } from "../catalogue/queries.ts"
import { Choose, Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { Problem } from "../ui/Problem.tsx"
import { call } from "../wire/call.ts"
import { HeaderFields, headersOf, recordOf } from "./HeaderFields.tsx"
import { tableOf } from "./health.ts"
import type { Webhook } from "./queries.ts"
import { SecretField } from "./SecretField.tsx"

const operations = ["INSERT", "UPDATE", "DELETE"] as const
const happenings = ["identity.created", "identity.updated", "identity.deleted", "identity.signed_in"] as const
type Format = Webhook["format"]
type Event = (typeof operations)[number] | (typeof happenings)[number]

const whatHappened: Readonly<Record<Event, string>> = {
  INSERT: "a row is added",
  UPDATE: "a row is changed",
  DELETE: "a row is deleted",
  "identity.created": "an account is created",
  "identity.updated": "an account is changed",
  "identity.deleted": "an account is deleted",
  "identity.signed_in": "a person signs in"
}

const formats: ReadonlyArray<readonly [value: Format, words: string]> = [
  ["svc", "as this service writes it: row, old_row and more"],
  ["supabase", "as Supabase's database webhooks: record, old_record"]
]

interface WebhookFormProps {
  /** Undefined: a new one. */
  readonly webhook: Webhook | undefined
  readonly onClose: () => void
  readonly onSaved: (webhook: Webhook) => void
}

interface TableName {
  readonly table_schema: string
  readonly table_name: string
}

const written = ({ table_name, table_schema }: TableName) => JSON.stringify([table_schema, table_name])

/** In place of a table: what happens to the accounts of people. */
const people = written({ table_schema: "svc", table_name: "identities" })
const eventsOf = (table: string): ReadonlyArray<Event> => (table === people ? happenings : operations)

const urlProblem = (url: string) =>
  (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) || /^function:\/\/[A-Za-z][\w-]*$/.test(url)
    ? undefined
    : "An address that begins with https:// or http://, or function:// and a name"

export const WebhookForm = ({ onClose, onSaved, webhook }: WebhookFormProps) => {
  const tables = useWatchable()
  const [name, setName] = useState(webhook?.name ?? "")
  const [table, setTable] = useState(webhook === undefined ? "" : written(webhook))
  const [events, setEvents] = useState<ReadonlyArray<string>>(webhook?.events ?? operations)
  const [url, setUrl] = useState(webhook?.url ?? "")
  const [format, setFormat] = useState<Format>(webhook?.format ?? "svc")
  const [headers, setHeaders] = useState(() => headersOf(webhook?.headers ?? {}))
  const [secret, setSecret] = useState({ text: "", remove: false })
  const [checked, setChecked] = useState(false)

  const known = (tables.data ?? []).map(({ schema, table }): TableName => ({ table_schema: schema, table_name: table }))
  // A table that has been dropped stays chosen until another is.
  const all =
    webhook === undefined || written(webhook) === people || known.some((one) => written(one) === written(webhook))
      ? known
      : [webhook, ...known]
  const options = [
    ["", tables.isPending ? "Reading the tables…" : "Choose a table"] as const,
    ...all.map((one) => [written(one), tableOf(one)] as const),
    [people, "Accounts of people"] as const
  ]
  const missing = table === "" ? "Choose a table" : events.length === 0 ? "Choose one event at least" : undefined

  const save = async () => {
    const [table_schema, table_name] = JSON.parse(table) as [string, string]
    const payload = {
      name,
      table_schema,
      table_name,
      events: eventsOf(table).filter((event) => events.includes(event)),
      url,
      format,
      headers: recordOf(headers),
      ...(secret.remove ? { secret: null } : secret.text === "" ? {} : { secret: secret.text })
    }
    onSaved(
      webhook === undefined
        ? await call("POST /api/webhooks/", { payload })
        : await call("PATCH /api/webhooks/:id", { params: { id: webhook.id }, payload })
    )
  }
  return (
    <FormDialog
      title={webhook === undefined ? "Create a webhook" : "Change the webhook"}
      verb={webhook === undefined ? "Create webhook" : "Save"}
      failed="The webhook was not saved"
      wide
      run={() => {
        setChecked(true)
        return missing === undefined && urlProblem(url) === undefined ? save() : undefined
      }}
      onClose={onClose}
    >
      <Field label="Name" value={name} maxLength={100} placeholder="orders to the shop system" onText={setName} />
      <Choose
        label="Table"
        value={table}
        options={options}
        onValue={(chosen) => {
          setTable(chosen)
          if (eventsOf(chosen) !== eventsOf(table)) setEvents(eventsOf(chosen))
        }}
      />
      {tables.isError ? <Problem error={tables.error} title="The tables could not be read" /> : null}
      <fieldset className="events">
        <legend>Send when</legend>
        {eventsOf(table).map((operation) => (
          <label key={operation}>
            <input
              type="checkbox"
              checked={events.includes(operation)}
              onChange={(event) =>
                setEvents(event.target.checked ? [...events, operation] : events.filter((one) => one !== operation))
              }
            />
            {whatHappened[operation]} <code>{operation}</code>
          </label>
        ))}
      </fieldset>
      <Field
        label="URL of the receiver"
        type="url"
        value={url}
        maxLength={2048}
        spellCheck={false}
        placeholder="https://shop.example.com/hooks/orders"
        problem={checked ? urlProblem(url) : undefined}
        onText={setUrl}
      />
      {table === people ? null : (
        <Choose
          label="Body"
          value={format}
          options={formats}
          hint={webhook === undefined ? undefined : "Holds for what has not been attempted yet."}
          onValue={setFormat}
        />
      )}
      <SecretField has={webhook?.has_secret ?? false} draft={secret} onChange={setSecret} />
      <HeaderFields headers={headers} onChange={setHeaders} />
      {checked && missing !== undefined ? (
        <p className="field-problem" role="alert">
          {missing}
        </p>
      ) : null}
    </FormDialog>
  )
}
