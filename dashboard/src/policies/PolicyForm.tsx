import { useState } from "react"
import type { Table } from "../catalogue/queries.ts"
import { Choose, Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { JsonField } from "../ui/json/JsonField.tsx"
import { toast } from "../ui/toast.ts"
import { runDdl } from "../catalogue/ddl.ts"
import { commands, createSql, type Draft, dropSql, hasCheck, hasUsing, type Policy, templates } from "./policy.ts"

interface PolicyFormProps {
  readonly table: Table
  /** Undefined: a new policy. */
  readonly policy: Policy | undefined
  readonly onClose: () => void
  readonly onSaved: () => Promise<unknown>
}

const roleNames = ["anon", "authenticated"]

const kinds = [
  ["permissive", "permissive: allows rows"],
  ["restrictive", "restrictive: limits what others allow"]
] as const

const draftOf = ({ check, command, name, permissive, roles, using }: Policy): Draft => ({
  name,
  command,
  permissive,
  roles: roles.filter((role) => role !== "public"),
  using: using ?? "",
  check: check ?? ""
})

const blank: Draft = { name: "", command: "SELECT", permissive: true, roles: ["authenticated"], using: "", check: "" }

export const PolicyForm = ({ onClose, onSaved, policy, table }: PolicyFormProps) => {
  const [draft, setDraft] = useState<Draft>(() => (policy === undefined ? blank : draftOf(policy)))
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  // PostgreSQL can't alter all of a policy, so it is dropped and created again in the same transaction.
  const statements = [...(policy === undefined ? [] : [dropSql(table, policy.name)]), createSql(table, draft)]
  const others = draft.roles.filter((role) => !roleNames.includes(role))
  const save = async () => {
    await runDdl(statements)
    await onSaved()
    toast(policy === undefined ? "Policy added" : "Policy changed")
    onClose()
  }
  return (
    <FormDialog
      title={policy === undefined ? `Add a policy to ${table.name}` : `Change ${policy.name}`}
      verb={policy === undefined ? "Add policy" : "Save policy"}
      failed="The policy was not saved"
      wide
      disabled={draft.name.trim() === ""}
      run={save}
      onClose={onClose}
    >
      {policy === undefined ? (
        <div className="policy-templates" role="group" aria-label="Templates">
          {templates.map(({ draft: make, name, words }) => (
            <button key={name} type="button" onClick={() => setDraft(make(table))}>
              <b>{name}</b>
              <span>{words}</span>
            </button>
          ))}
        </div>
      ) : null}
      <Field label="Name" value={draft.name} maxLength={63} autoComplete="off" onText={(name) => change({ name })} />
      <div className="policy-row">
        <Choose
          label="For"
          value={draft.command}
          options={commands.map((command) => [command, command])}
          onValue={(command) => change({ command })}
        />
        <Choose
          label="Kind"
          value={draft.permissive ? "permissive" : "restrictive"}
          options={kinds}
          onValue={(kind) => change({ permissive: kind === "permissive" })}
        />
      </div>
      <fieldset className="policy-roles">
        <legend>To; no role means everyone</legend>
        {[...roleNames, ...others].map((role) => (
          <label key={role}>
            <input
              type="checkbox"
              checked={draft.roles.includes(role)}
              onChange={({ target: { checked } }) =>
                change({ roles: checked ? [...draft.roles, role] : draft.roles.filter((one) => one !== role) })
              }
            />
            {role}
          </label>
        ))}
      </fieldset>
      {hasUsing(draft.command) ? (
        <JsonField
          label="Rows that it applies to (using)"
          rows={2}
          text={draft.using}
          hint="A condition in SQL, such as owner = (select auth.uid())"
          onText={(using) => change({ using })}
        />
      ) : null}
      {hasCheck(draft.command) ? (
        <JsonField
          label="New rows must satisfy (with check)"
          rows={2}
          text={draft.check}
          hint={hasUsing(draft.command) ? "Empty: the condition above." : undefined}
          onText={(check) => change({ check })}
        />
      ) : null}
      <pre className="policy-sql" aria-label="SQL">
        {statements.join(";\n")}
      </pre>
    </FormDialog>
  )
}
