import { useState } from "react"
import { runAlone, runDdl } from "../../catalogue/ddl.ts"
import type { Table } from "../../catalogue/queries.ts"
import {
  canInclude,
  createIndexSql,
  type IndexDraft,
  type IndexPart,
  indexProblems,
  isOrdered,
  newPart,
  type OperatorClass
} from "../../catalogue/sql/indexes.ts"
import { Button } from "../../ui/Button.tsx"
import { Check, Choose, Field } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { JsonField } from "../../ui/json/JsonField.tsx"
import { FormSql, useDdl, unassisted } from "./parts.tsx"

interface PartFieldsProps {
  readonly part: IndexPart
  readonly at: number
  readonly table: Table
  readonly method: string
  readonly operators: ReadonlyArray<OperatorClass>
  readonly onChange: (part: IndexPart) => void
  readonly onRemove: () => void
}

const keyOf = (one: OperatorClass | undefined) => (one === undefined ? "" : JSON.stringify([one.schema, one.name]))

const orders = {
  "asc-default": "ascending",
  "desc-default": "descending",
  "asc-first": "ascending, NULL first",
  "desc-last": "descending, NULL last"
} as const

const PartFields = ({ at, method, onChange, onRemove, operators, part, table }: PartFieldsProps) => {
  const change = (next: Partial<IndexPart>) => onChange({ ...part, ...next })
  const offered = operators.filter((one) => one.method === method)
  const order = `${part.descending ? "desc" : "asc"}-${part.nulls}` as keyof typeof orders
  return (
    <fieldset className="form-part">
      <legend className="sr">Part {at + 1}</legend>
      <Choose
        label="By"
        value={part.kind}
        options={[
          ["column", "a column"],
          ["expression", "an expression"]
        ]}
        onValue={(kind) => change({ kind, text: "" })}
      />
      {part.kind === "column" ? (
        <Choose
          label="Column"
          value={part.text}
          options={[
            ...(part.text === "" ? [["", "Choose…"] as const] : []),
            ...table.columns.map(({ name, type }) => [name, `${name} (${type})`] as const)
          ]}
          onValue={(text) => change({ text })}
        />
      ) : (
        <Field
          label="Expression (SQL)"
          value={part.text}
          placeholder="lower(email)"
          {...unassisted}
          onText={(text) => change({ text })}
        />
      )}
      {isOrdered(method) ? (
        <Choose
          label="Order"
          value={order}
          options={Object.entries(orders).map(([key, words]) => [key as keyof typeof orders, words])}
          onValue={(key) => {
            const [direction, nulls] = key.split("-")
            change({ descending: direction === "desc", nulls: nulls as IndexPart["nulls"] })
          }}
        />
      ) : null}
      {offered.length === 0 ? null : (
        <Choose
          label="Operators"
          value={keyOf(part.operators)}
          options={[["", "the type's default"], ...offered.map((one) => [keyOf(one), one.name] as const)]}
          onValue={(key) => change({ operators: offered.find((one) => keyOf(one) === key) })}
        />
      )}
      <Button kind="quiet" icon="trash" label={`Remove part ${at + 1}`} onClick={onRemove} />
    </fieldset>
  )
}

interface IndexFormProps {
  readonly table: Table
  readonly methods: ReadonlyArray<string>
  readonly operators: ReadonlyArray<OperatorClass>
  readonly onClose: () => void
}

export const IndexForm = ({ methods, onClose, operators, table }: IndexFormProps) => {
  const ddl = useDdl()
  const [draft, setDraft] = useState<IndexDraft>(() => ({
    schema: table.schema,
    table: table.name,
    name: "",
    method: "btree",
    unique: false,
    parts: [newPart()],
    include: [],
    where: "",
    // A partitioned table can't have one so.
    concurrently: table.type === "table"
  }))
  const change = (part: Partial<IndexDraft>) => setDraft({ ...draft, ...part })
  const problems = indexProblems(draft)
  const sql = createIndexSql(draft)
  return (
    <FormDialog
      title={`Add an index to ${table.name}`}
      verb="Create index"
      failed="The index was not created"
      explain={() =>
        draft.concurrently ? "What was built so far may stay as an invalid index. Insights lists it." : null
      }
      wide
      disabled={problems.length > 0}
      run={async () => {
        await ddl("Index created", () => (draft.concurrently ? runAlone(sql) : runDdl([sql])))
        onClose()
      }}
      onClose={onClose}
    >
      <div className="form-row">
        <Field
          label="Name"
          value={draft.name}
          placeholder="chosen by PostgreSQL"
          {...unassisted}
          onText={(name) => change({ name })}
        />
        <Choose
          label="Method"
          value={draft.method}
          options={methods.map((one) => [one, one])}
          onValue={(method) =>
            change({
              method,
              unique: draft.unique && isOrdered(method),
              parts: draft.parts.map((part) => ({ ...part, operators: undefined }))
            })
          }
        />
      </div>
      <div className="form-parts">
        {draft.parts.map((part, at) => (
          <PartFields
            key={part.id}
            part={part}
            at={at}
            table={table}
            method={draft.method}
            operators={operators}
            onChange={(next) => change({ parts: draft.parts.map((one) => (one.id === next.id ? next : one)) })}
            onRemove={() => change({ parts: draft.parts.filter(({ id }) => id !== part.id) })}
          />
        ))}
      </div>
      <div>
        <Button icon="plus" onClick={() => change({ parts: [...draft.parts, newPart()] })}>
          Add part
        </Button>
      </div>
      <div className="form-checks">
        <Check checked={draft.unique} disabled={!isOrdered(draft.method)} onChange={(unique) => change({ unique })}>
          Unique
        </Check>
        <Check
          checked={draft.concurrently}
          disabled={table.type !== "table"}
          onChange={(concurrently) => change({ concurrently })}
        >
          Without stopping writes (concurrently)
        </Check>
      </div>
      <JsonField
        label="Only rows for which (where)"
        rows={1}
        text={draft.where}
        hint="A condition in SQL, such as deleted_at is null. Empty: all rows."
        onText={(where) => change({ where })}
      />
      {canInclude(draft.method) ? (
        <details className="form-more">
          <summary>Columns that it returns as well (include)</summary>
          <div className="form-checks" role="group" aria-label="Include">
            {table.columns.map(({ name }) => (
              <Check
                key={name}
                checked={draft.include.includes(name)}
                onChange={(on) =>
                  change({ include: on ? [...draft.include, name] : draft.include.filter((one) => one !== name) })
                }
              >
                {name}
              </Check>
            ))}
          </div>
        </details>
      ) : null}
      <FormSql problems={problems} statements={[sql]} />
    </FormDialog>
  )
}
