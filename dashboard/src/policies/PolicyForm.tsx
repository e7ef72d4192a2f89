import { useState } from "react"
import type { Table } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { JsonField } from "../ui/json/JsonField.tsx"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { runDdl } from "./ddl.ts"
import { commands, createSql, type Draft, dropSql, hasCheck, hasUsing, type Policy, templates } from "./policy.ts"

interface PolicyFormProps {
  readonly table: Table
  /** Undefined: a new policy. */
  readonly policy: Policy | undefined
  readonly onClose: () => void
  readonly onSaved: () => Promise<unknown>
}

const roleNames = ["anon", "authenticated"]

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
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const change = (part: Partial<Draft>) => setDraft({ ...draft, ...part })
  // PostgreSQL can't alter all of a policy, so it is made anew in the same transaction.
  const statements = [...(policy === undefined ? [] : [dropSql(table, policy.name)]), createSql(table, draft)]
  const others = draft.roles.filter((role) => !roleNames.includes(role))
  const save = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      await runDdl(statements)
      await onSaved()
      toast(policy === undefined ? "Policy added" : "Policy changed")
      onClose()
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  const title = policy === undefined ? `Add a policy to ${table.name}` : `Change ${policy.name}`
  return (
    <Dialog label={title} className="wide" onClose={onClose}>
      <form
        className="dialog-body"
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <h2>{title}</h2>
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
          <div className="labelled">
            <label htmlFor="policy-command">For</label>
            <select
              id="policy-command"
              className="field"
              value={draft.command}
              onChange={(event) => change({ command: commands.find((one) => one === event.target.value) ?? "ALL" })}
            >
              {commands.map((command) => (
                <option key={command}>{command}</option>
              ))}
            </select>
          </div>
          <div className="labelled">
            <label htmlFor="policy-kind">Kind</label>
            <select
              id="policy-kind"
              className="field"
              value={draft.permissive ? "permissive" : "restrictive"}
              onChange={(event) => change({ permissive: event.target.value === "permissive" })}
            >
              <option value="permissive">permissive: allows rows</option>
              <option value="restrictive">restrictive: limits what others allow</option>
            </select>
          </div>
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
        {failure === undefined ? null : <Problem error={failure} title="The policy was not saved" />}
        <footer>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="main" type="submit" busy={busy} disabled={draft.name.trim() === ""}>
            {policy === undefined ? "Add policy" : "Save policy"}
          </Button>
        </footer>
      </form>
    </Dialog>
  )
}
