import "./forms.css"
import type { Table } from "../../catalogue/queries.ts"
import { Dialog } from "../../ui/Dialog.tsx"
import { Skeleton } from "../../ui/Empty.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { type EnumType, type StoredFunction, useDefinitions } from "../queries.ts"
import { EnumForm } from "./EnumForm.tsx"
import { FunctionForm } from "./FunctionForm.tsx"
import { IndexForm } from "./IndexForm.tsx"
import { type Drop, DropObject } from "./parts.tsx"
import { SchemaForm } from "./SchemaForm.tsx"
import { TriggerForm, type TriggerFormProps } from "./TriggerForm.tsx"

/** A dialog of the schema's page. */
export type SchemaDialog =
  | { readonly tag: "index"; readonly table: Table }
  | { readonly tag: "trigger"; readonly relation: TriggerFormProps["relation"] }
  | { readonly tag: "enum"; readonly type: EnumType | undefined }
  | { readonly tag: "function"; readonly stored: StoredFunction | undefined }
  | { readonly tag: "schema" }
  | { readonly tag: "drop"; readonly drop: Drop }

interface FormsProps {
  readonly dialog: SchemaDialog
  /** That is shown. */
  readonly schema: string
  readonly onClose: () => void
  readonly onSchema: (name: string) => void
}

export const Forms = ({ dialog, onClose, onSchema, schema }: FormsProps) => {
  const definitions = useDefinitions()
  const { data } = definitions
  if (dialog.tag === "drop") return <DropObject drop={dialog.drop} onClose={onClose} />
  if (dialog.tag === "schema") return <SchemaForm onClose={onClose} onCreated={onSchema} />
  if (data === undefined) {
    return (
      <Dialog label="Schema" onClose={onClose}>
        <div className="dialog-body">
          {definitions.isError ? (
            <Problem
              error={definitions.error}
              title="The schema could not be read"
              onRetry={() => void definitions.refetch()}
            />
          ) : (
            <Skeleton lines={[100, 100]} />
          )}
        </div>
      </Dialog>
    )
  }
  const schemas = data.schemas.map(({ name }) => name)
  switch (dialog.tag) {
    case "index":
      return <IndexForm table={dialog.table} methods={data.methods} operators={data.operators} onClose={onClose} />
    case "trigger":
      return <TriggerForm relation={dialog.relation} functions={data.trigger_functions} onClose={onClose} />
    case "enum":
      return <EnumForm type={dialog.type} schema={schema} schemas={schemas} onClose={onClose} />
    default:
      return (
        <FunctionForm
          stored={dialog.stored}
          schema={schema}
          schemas={schemas}
          languages={data.languages}
          onClose={onClose}
        />
      )
  }
}
