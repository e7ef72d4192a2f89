import type { Catalogue } from "../../catalogue/queries.ts"
import { Button } from "../../ui/Button.tsx"
import { Check, Choose, Field } from "../../ui/Field.tsx"
import { type ColumnDraft, onDeletes, type ReferenceDraft } from "./draft.ts"

/** A column that others may refer to. */
interface Target {
  readonly key: string
  readonly words: string
  readonly type: string
  readonly reference: Omit<ReferenceDraft, "onDelete">
}

/** Columns that are unique by themselves, which is what a reference needs. */
export const targetsOf = (catalogue: Catalogue): ReadonlyArray<Target> =>
  catalogue.tables.flatMap(({ columns, name, primary_key, schema, unique_keys }) =>
    columns
      .filter(
        (column) =>
          (primary_key.length === 1 && primary_key[0] === column.name) ||
          unique_keys.some((key) => key.columns.length === 1 && key.columns[0] === column.name)
      )
      .map((column) => ({
        key: JSON.stringify([schema, name, column.name]),
        words: `${schema === "public" ? name : `${schema}.${name}`} (${column.name})`,
        type: column.type,
        reference: { schema, table: name, column: column.name }
      }))
  )

const keyOf = (reference: ReferenceDraft | undefined) =>
  reference === undefined ? "" : JSON.stringify([reference.schema, reference.table, reference.column])

interface ColumnFieldsProps {
  readonly column: ColumnDraft
  readonly targets: ReadonlyArray<Target>
  /** The id of the list of types. */
  readonly types: string
  /** Whether the primary key is there already: then it can't be changed here. */
  readonly keyed: boolean
  readonly onChange: (column: ColumnDraft) => void
  readonly onRemove: () => void
}

/** One column of a table that is made or changed. */
export const ColumnFields = ({ column, keyed, onChange, onRemove, targets, types }: ColumnFieldsProps) => {
  const change = (part: Partial<ColumnDraft>) => onChange({ ...column, ...part })
  const { before, references } = column
  const generated = before?.generated != null
  const refer = (key: string) => {
    const target = targets.find((one) => one.key === key)
    if (target === undefined) return change({ references: undefined })
    const { reference, type } = target
    // A reference has the type of what it names.
    change({
      references: { ...reference, onDelete: references?.onDelete ?? "no action" },
      ...(before === undefined ? { type, identity: false } : {})
    })
  }
  return (
    <fieldset className="column-fields">
      <legend className="sr">Column {column.name === "" ? "without a name" : column.name}</legend>
      <Field
        label="Name"
        value={column.name}
        maxLength={63}
        autoComplete="off"
        spellCheck={false}
        onText={(name) => change({ name })}
      />
      <Field
        label="Type"
        value={column.type}
        list={types}
        disabled={generated}
        autoComplete="off"
        spellCheck={false}
        onText={(type) => change({ type })}
      />
      {column.identity || generated ? (
        <Field label="Default" value={before?.generated ?? "counts up"} disabled onText={() => undefined} />
      ) : (
        <Field
          label="Default (SQL)"
          value={column.default}
          placeholder={column.nullable ? "NULL" : "none"}
          autoComplete="off"
          spellCheck={false}
          onText={(text) => change({ default: text })}
        />
      )}
      <Button kind="quiet" icon="trash" label={`Remove column ${column.name}`} onClick={onRemove} />
      <div className="column-checks">
        <Check
          checked={column.primary}
          disabled={keyed}
          onChange={(primary) => change({ primary, ...(primary ? { nullable: false } : {}) })}
        >
          Primary key
        </Check>
        <Check
          checked={!column.nullable}
          disabled={column.primary || column.identity || generated}
          onChange={(required) => change({ nullable: !required })}
        >
          Not null
        </Check>
        <Check checked={column.unique} disabled={column.primary} onChange={(unique) => change({ unique })}>
          Unique
        </Check>
        {before === undefined ? (
          <Check
            checked={column.identity}
            disabled={!/^\s*(?:smallint|integer|bigint|int[248]?)\s*$/i.test(column.type)}
            onChange={(identity) => change({ identity, ...(identity ? { nullable: false, default: "" } : {}) })}
          >
            Counts up
          </Check>
        ) : null}
      </div>
      <details className="column-more" open={references !== undefined || column.comment !== ""}>
        <summary>Reference, comment</summary>
        <div>
          <Choose
            label="Refers to"
            value={keyOf(references)}
            options={[
              ["", "nothing"],
              ...targets.map(({ key, words }) => [key, words] as const),
              // A key to a table that is not exposed.
              ...(references === undefined || targets.some(({ key }) => key === keyOf(references))
                ? []
                : [[keyOf(references), `${references.schema}.${references.table}`] as const])
            ]}
            onValue={refer}
          />
          {references === undefined ? null : (
            <Choose
              label="When that row is deleted"
              value={references.onDelete}
              options={onDeletes.map((one) => [one, one])}
              onValue={(value) =>
                change({
                  references: { ...references, onDelete: onDeletes.find((one) => one === value) ?? "no action" }
                })
              }
            />
          )}
          <Field label="Comment" value={column.comment} autoComplete="off" onText={(comment) => change({ comment })} />
        </div>
      </details>
    </fieldset>
  )
}
