import { useState } from "react"
import { runDdl } from "../../catalogue/ddl.ts"
import {
  alterEnumSql,
  createEnumSql,
  type EnumDraft,
  enumProblems,
  type EnumValue,
  enumValue
} from "../../catalogue/sql/enums.ts"
import { Button } from "../../ui/Button.tsx"
import { Choose, Field } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import type { EnumType } from "../queries.ts"
import { FormSql, useDdl, unassisted } from "./parts.tsx"

interface EnumFormProps {
  /** Undefined: a new one. */
  readonly type: EnumType | undefined
  readonly schema: string
  readonly schemas: ReadonlyArray<string>
  readonly onClose: () => void
}

/** Makes an enum, or adds and renames its values. */
export const EnumForm = ({ onClose, schema, schemas, type }: EnumFormProps) => {
  const ddl = useDdl()
  const [draft, setDraft] = useState<EnumDraft>(() =>
    type === undefined
      ? { schema, name: "", values: [enumValue()] }
      : { ...type, values: type.values.map((value) => enumValue(value, value)) }
  )
  const change = (part: Partial<EnumDraft>) => setDraft({ ...draft, ...part })
  const add = (at: number) => change({ values: [...draft.values.slice(0, at), enumValue(), ...draft.values.slice(at)] })
  const set = (next: EnumValue) => change({ values: draft.values.map((one) => (one.id === next.id ? next : one)) })
  const problems = enumProblems(draft)
  const statements = problems.length > 0 ? [] : type === undefined ? [createEnumSql(draft)] : alterEnumSql(draft)
  return (
    <FormDialog
      title={type === undefined ? "New enum" : `Edit ${type.name}`}
      verb={type === undefined ? "Create enum" : "Change enum"}
      failed={type === undefined ? "The enum was not created" : "Nothing was changed"}
      wide
      disabled={statements.length === 0}
      run={async () => {
        await ddl(`${draft.name} ${type === undefined ? "created" : "changed"}`, () => runDdl(statements))
        onClose()
      }}
      onClose={onClose}
    >
      {type === undefined ? (
        <div className="form-row">
          <Field label="Name" value={draft.name} {...unassisted} onText={(name) => change({ name })} />
          <Choose
            label="Schema"
            value={draft.schema}
            options={schemas.map((one) => [one, one])}
            onValue={(schema) => change({ schema })}
          />
        </div>
      ) : (
        <p className="hint">
          PostgreSQL adds and renames values. To remove or move one, make another type and change the columns to it.
        </p>
      )}
      <div className="form-parts">
        {draft.values.map((one, at) => (
          <div key={one.id} className="form-value">
            <Field
              label={`Value ${at + 1}${one.before === undefined && type !== undefined ? " (new)" : ""}`}
              value={one.value}
              {...unassisted}
              onText={(value) => set({ ...one, value })}
            />
            <Button kind="quiet" icon="plus" label={`Add a value before value ${at + 1}`} onClick={() => add(at)} />
            {one.before === undefined ? (
              <Button
                kind="quiet"
                icon="trash"
                label={`Remove value ${at + 1}`}
                onClick={() => change({ values: draft.values.filter(({ id }) => id !== one.id) })}
              />
            ) : null}
          </div>
        ))}
      </div>
      <div>
        <Button icon="plus" onClick={() => add(draft.values.length)}>
          Add value
        </Button>
      </div>
      <FormSql problems={problems} statements={statements} />
    </FormDialog>
  )
}
