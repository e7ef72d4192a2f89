import "./alter.css"
import { useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useId, useLayoutEffect, useRef, useState } from "react"
import { runDdl } from "../../catalogue/ddl.ts"
import { type Catalogue, type Table } from "../../catalogue/queries.ts"
import { Button } from "../../ui/Button.tsx"
import { Choose, Field, Switch } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { toast } from "../../ui/toast.ts"
import { ColumnFields, targetsOf } from "./ColumnFields.tsx"
import {
  type ColumnDraft,
  draftOf,
  newColumn,
  newTable,
  problemsOf,
  type TableDraft,
  unquotedDefaults
} from "./draft.ts"
import { alterSql, createSql } from "./statements.ts"

const usualTypes = [
  "text",
  "bigint",
  "integer",
  "numeric",
  "boolean",
  "timestamptz",
  "date",
  "uuid",
  "jsonb",
  "double precision",
  "text[]",
  "bytea",
  "interval"
]

interface TableFormProps {
  readonly catalogue: Catalogue
  /** Undefined: a new one. */
  readonly table: Table | undefined
  /** Of a new one; it may be one that is not exposed. */
  readonly schema?: string | undefined
  readonly onClose: () => void
}

/** Makes a table or changes one. Shows the statements, and runs them in one transaction. */
export const TableForm = ({ catalogue, onClose, schema, table }: TableFormProps) => {
  const types = useId()
  const client = useQueryClient()
  const navigate = useNavigate()
  const list = useRef<HTMLDivElement>(null)
  const [draft, setDraft] = useState<TableDraft>(() =>
    table === undefined ? newTable(schema ?? catalogue.schemas[0] ?? "public") : draftOf(table)
  )
  const change = (part: Partial<TableDraft>) => setDraft({ ...draft, ...part })
  const problems = problemsOf(draft)
  const statements = problems.length > 0 ? [] : table === undefined ? createSql(draft) : alterSql(table, draft)
  const schemas = schema === undefined ? catalogue.schemas : Array.from(new Set([...catalogue.schemas, schema]))
  const unquoted = unquotedDefaults(draft)
  const keyed = table !== undefined && table.primary_key.length > 0
  const targets = targetsOf(catalogue)
  const setColumn = (column: ColumnDraft) =>
    change({ columns: draft.columns.map((one) => (one.id === column.id ? column : one)) })
  const added = useRef(false)
  useLayoutEffect(() => {
    if (added.current) list.current?.querySelector<HTMLElement>(":scope > fieldset:last-of-type input")?.focus()
    added.current = false
  }, [draft.columns.length])
  const add = () => {
    added.current = true
    change({ columns: [...draft.columns, newColumn()] })
  }
  const run = async () => {
    await runDdl(statements)
    await client.invalidateQueries({ queryKey: ["catalogue"] })
    toast(`${draft.name} ${table === undefined ? "created" : "changed"}`)
    onClose()
    if (!catalogue.schemas.includes(draft.schema)) {
      void navigate({ to: "/schema", search: { schema: draft.schema } })
    } else if (draft.name !== table?.name) {
      const params = { schema: draft.schema, table: draft.name }
      void navigate({ to: "/tables/$schema/$table", params, search: {} })
    }
  }
  const lost = table?.columns.filter(({ name }) => !draft.columns.some(({ before }) => before?.name === name)) ?? []
  return (
    <FormDialog
      title={table === undefined ? "New table" : `Edit ${table.name}`}
      verb={table === undefined ? "Create table" : "Change table"}
      failed={table === undefined ? "The table was not created" : "Nothing was changed"}
      explain={() =>
        unquoted.length === 0 ? null : (
          <p className="hint">
            A text in a default is in quotes:{" "}
            {unquoted.map((column) => `'${column.default.trim()}' of the column ${column.name}`).join(", ")}.
          </p>
        )
      }
      wide
      disabled={statements.length === 0}
      run={run}
      onClose={onClose}
    >
      <div className="table-head">
        <Field
          label="Table name"
          value={draft.name}
          maxLength={63}
          autoComplete="off"
          spellCheck={false}
          onText={(name) => change({ name })}
        />
        {table === undefined && schemas.length > 1 ? (
          <Choose
            label="Schema"
            value={draft.schema}
            options={schemas.map((name) => [name, name])}
            onValue={(schema) => change({ schema })}
          />
        ) : null}
        <Field
          label="Table comment"
          value={draft.comment}
          placeholder="What its rows are"
          autoComplete="off"
          onText={(comment) => change({ comment })}
        />
      </div>
      <div>
        <Switch checked={draft.security} onChange={(security) => change({ security })}>
          Row-level security
        </Switch>
        <p className={draft.security ? "hint" : "field-problem"}>
          {draft.security
            ? "Anon keys and users see the rows that its policies allow; without a policy, none."
            : "Everyone who has an anon key, which is public, may read and write all rows."}
        </p>
      </div>
      <datalist id={types}>
        {[...usualTypes, ...catalogue.enums.map((one) => one.type)].map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
      <div ref={list} className="column-list">
        {draft.columns.map((column) => (
          <ColumnFields
            key={column.id}
            column={column}
            targets={targets}
            types={types}
            keyed={keyed}
            onChange={setColumn}
            onRemove={() => change({ columns: draft.columns.filter(({ id }) => id !== column.id) })}
          />
        ))}
      </div>
      <div>
        <Button icon="plus" onClick={add}>
          Add column
        </Button>
      </div>
      {lost.length === 0 ? null : (
        <div className="field-problem" role="status">
          {lost.map(({ name }) => name).join(", ")}: the values in {lost.length === 1 ? "this column" : "these columns"}{" "}
          are deleted, which can&apos;t be undone.
        </div>
      )}
      <pre role="region" aria-label="SQL" className="table-sql">
        {problems.length > 0
          ? problems.map((problem) => `-- ${problem}`).join("\n")
          : statements.length === 0
            ? "-- Nothing is changed yet"
            : statements.map((statement) => `${statement};`).join("\n")}
      </pre>
    </FormDialog>
  )
}
