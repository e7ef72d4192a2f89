import { useState } from "react"
import { runDdl } from "../../catalogue/ddl.ts"
import { nameProblem } from "../../catalogue/names.ts"
import { createSchemaSql } from "../../catalogue/sql/schemas.ts"
import { Field } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { FormSql, useDdl, unassisted } from "./parts.tsx"

interface SchemaFormProps {
  readonly onClose: () => void
  readonly onCreated: (name: string) => void
}

export const SchemaForm = ({ onClose, onCreated }: SchemaFormProps) => {
  const ddl = useDdl()
  const [name, setName] = useState("")
  const [comment, setComment] = useState("")
  const problem = nameProblem(name, "The schema")
  const statements = createSchemaSql(name, comment)
  return (
    <FormDialog
      title="New schema"
      verb="Create schema"
      failed="The schema was not created"
      disabled={problem !== undefined}
      run={async () => {
        await ddl(`${name} created`, () => runDdl(statements))
        onClose()
        onCreated(name)
      }}
      onClose={onClose}
    >
      <Field
        label="Name"
        value={name}
        {...unassisted}
        hint="Its tables are reached by SQL. SVC_DB_SCHEMAS decides which schemas are reached by /v1/db."
        onText={setName}
      />
      <Field label="Comment" value={comment} autoComplete="off" onText={setComment} />
      <FormSql problems={problem === undefined ? [] : [problem]} statements={statements} />
    </FormDialog>
  )
}
