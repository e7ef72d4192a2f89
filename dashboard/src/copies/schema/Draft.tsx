import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../../ui/Button.tsx"
import { Confirm } from "../../ui/Confirm.tsx"
import { Field, Labelled } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { plural } from "../../ui/format.ts"
import { useUnsaved } from "../../ui/page/unsaved.ts"
import { toast } from "../../ui/toast.ts"
import { codeOf } from "../../wire/ApiError.ts"
import { call } from "../../wire/call.ts"
import { save } from "../../wire/save.ts"
import type { Branch } from "../queries.ts"
import { schemaChangesOf, type SchemaDifference } from "./queries.ts"

/** What a migration may be called, of a branch's label. */
const nameOf = ({ id, label }: Branch) =>
  label
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, 60) || `branch_${id}`

const isName = (name: string) => /^[a-z0-9][a-z0-9_-]{0,79}$/i.test(name)
const nameProblem = "Letters, digits, - and _, 80 at most; it begins with a letter or a digit"

const toMigrations = (error: unknown) =>
  codeOf(error) === "MIGRATIONS_PENDING" ? <Link to="/migrations">Migrations</Link> : null

interface DraftProps {
  readonly branch: Branch
  readonly of: SchemaDifference
}

/** The migration as a text that can be edited, and what can be done with it. */
export const Draft = ({ branch, of }: DraftProps) => {
  const client = useQueryClient()
  const [sql, setSql] = useState(of.sql)
  const [name, setName] = useState(nameOf(branch))
  const [open, setOpen] = useState<"save" | "run">()
  const edited = sql !== of.sql
  useUnsaved(edited ? "Leave, and discard the edited migration?" : undefined)
  const close = () => setOpen(undefined)
  const empty = sql.trim() === ""
  const invalid = isName(name) ? undefined : nameProblem
  const done = async (words: string) => {
    toast(words)
    close()
    await Promise.all([
      client.invalidateQueries({ queryKey: schemaChangesOf(branch.id) }),
      client.invalidateQueries({ queryKey: ["migrations"] })
    ])
  }
  const saveFile = () =>
    call("POST /api/migrations/", { payload: { name, sql } }).then(({ saved }) => done(`${saved.join(", ")} saved`))
  const run = () =>
    call("POST /api/branches/:id/schema-changes", {
      params: { id: branch.id },
      payload: { name, sql, fingerprint: of.fingerprint }
    }).then(({ ran }) => done(`${plural(ran.length, "migration")} run on main`))
  const naming = (
    <Field
      label="Name"
      value={name}
      onText={setName}
      problem={invalid}
      hint="A number or the time is put before it"
      autoComplete="off"
      spellCheck={false}
    />
  )
  const explained = (
    <p>
      It is saved with the other migrations, and runs in{" "}
      {of.transactions > 1 ? "a transaction for each part" : "one transaction"}, together with its row in the history.
      If main has another schema by now, or a statement fails, nothing stays.
    </p>
  )
  return (
    <section className="part schema-draft" aria-label="Migration">
      <Labelled label="Migration">
        {(attributes) => (
          <textarea
            {...attributes}
            className="field schema-sql"
            value={sql}
            rows={16}
            spellCheck={false}
            wrap="off"
            onChange={(event) => setSql(event.target.value)}
          />
        )}
      </Labelled>
      <p className="schema-buttons">
        {of.to === "main" ? (
          <>
            <Button kind={of.destructive > 0 ? "danger" : "main"} disabled={empty} onClick={() => setOpen("run")}>
              Run on main
            </Button>
            <Button disabled={empty} onClick={() => setOpen("save")}>
              Save as migration
            </Button>
          </>
        ) : null}
        <Button
          icon="download"
          disabled={empty}
          onClick={() => save(new Blob([sql], { type: "application/sql" }), `${isName(name) ? name : "changes"}.sql`)}
        >
          Download
        </Button>
        {edited ? (
          <Button kind="quiet" onClick={() => setSql(of.sql)}>
            Discard edits
          </Button>
        ) : null}
      </p>
      {open === "save" ? (
        <FormDialog
          title="Save as migration"
          verb="Save"
          failed="Nothing was saved"
          run={() => (invalid === undefined ? saveFile() : undefined)}
          onClose={close}
        >
          {naming}
          <p className="hint">It is written to the directory of migrations of the service, and not run.</p>
        </FormDialog>
      ) : null}
      {open === "run" && of.destructive === 0 ? (
        <FormDialog
          title="Run the migration on main?"
          verb="Run on main"
          failed="Nothing was run"
          explain={toMigrations}
          waits
          run={() => (invalid === undefined ? run() : undefined)}
          onClose={close}
        >
          {naming}
          <div className="dialog-text">{explained}</div>
        </FormDialog>
      ) : null}
      {open === "run" && of.destructive > 0 ? (
        <Confirm
          title="Run the migration on main, and delete values?"
          verb="Run and delete"
          name="main"
          onClose={close}
          run={async () => {
            if (invalid !== undefined) throw new Error(`The name is invalid: ${nameProblem}`)
            await run()
          }}
        >
          <p>
            {plural(of.destructive, "statement")} of it delete rows or values of the main database, which can only be
            had back from a backup.
          </p>
          {naming}
          {explained}
        </Confirm>
      ) : null}
    </section>
  )
}
