import "../forms/forms.css"
import { useState } from "react"
import { runDdl } from "../../catalogue/ddl.ts"
import { createExtensionSql, updateExtensionSql } from "../../catalogue/sql/extensions.ts"
import { Choose } from "../../ui/Field.tsx"
import { FormDialog } from "../../ui/FormDialog.tsx"
import { FormSql, useDdl } from "../forms/parts.tsx"
import type { Extension } from "./queries.ts"

interface CreateProps {
  readonly extension: Extension
  readonly schemas: ReadonlyArray<string>
  /** What it needs besides, in words. */
  readonly needs: ReadonlyArray<string>
  readonly onClose: () => void
}

export const CreateExtension = ({ extension, needs, onClose, schemas }: CreateProps) => {
  const ddl = useDdl()
  const { fixed_schema, name, offered, versions } = extension
  const [schema, setSchema] = useState(() => schemas.find((one) => one === "extensions") ?? "public")
  const [version, setVersion] = useState(offered ?? "")
  const sql = createExtensionSql({
    name,
    schema: fixed_schema === null ? schema : undefined,
    version: version === offered ? undefined : version
  })
  return (
    <FormDialog
      title={`Create ${name}`}
      verb="Create extension"
      failed="The extension was not created"
      run={async () => {
        await ddl(`${name} created`, () => runDdl([sql]))
        onClose()
      }}
      onClose={onClose}
    >
      {extension.comment === null ? null : <p className="dialog-text">{extension.comment}</p>}
      {needs.map((one) => (
        <p key={one} className="field-problem">
          {one}
        </p>
      ))}
      <div className="form-row">
        {fixed_schema === null ? (
          <Choose
            label="Schema"
            value={schema}
            options={schemas.map((one) => [one, one])}
            hint="Where its functions and types are."
            onValue={setSchema}
          />
        ) : (
          <p className="hint">Its schema is {fixed_schema}.</p>
        )}
        {versions.length < 2 ? null : (
          <Choose
            label="Version"
            value={version}
            options={versions.map((one) => [one, one === offered ? `${one} (the usual)` : one])}
            onValue={setVersion}
          />
        )}
      </div>
      <FormSql problems={[]} statements={[sql]} />
    </FormDialog>
  )
}

export const UpdateExtension = ({ extension, onClose }: Pick<CreateProps, "extension" | "onClose">) => {
  const ddl = useDdl()
  const { installed, name, updates } = extension
  const [version, setVersion] = useState(updates[0] ?? "")
  const sql = updateExtensionSql(name, version)
  return (
    <FormDialog
      title={`Update ${name}`}
      verb="Update extension"
      failed="The extension was not updated"
      run={async () => {
        await ddl(`${name} is ${version}`, () => runDdl([sql]))
        onClose()
      }}
      onClose={onClose}
    >
      <p className="dialog-text">
        It is {installed}. PostgreSQL can&apos;t go back to that version; a branch is where an update can be tried.
      </p>
      <Choose label="Version" value={version} options={updates.map((one) => [one, one])} onValue={setVersion} />
      <FormSql problems={[]} statements={[sql]} />
    </FormDialog>
  )
}
