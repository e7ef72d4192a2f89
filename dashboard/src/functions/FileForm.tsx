import { useState } from "react"
import { Field } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"

interface FileFormProps {
  /** Undefined: a new file. */
  readonly path: string | undefined
  readonly taken: ReadonlyArray<string>
  readonly onClose: () => void
  readonly onPath: (path: string) => void
}

const isPath = (path: string) => path.split("/").every((part) => /^[\w@()[\]+~-][\w.@()[\]+~-]*$/.test(part))

export const FileForm = ({ onClose, onPath, path, taken }: FileFormProps) => {
  const [text, setText] = useState(path ?? "")
  const [checked, setChecked] = useState(false)
  const problem = !isPath(text)
    ? "A relative path, such as lib/mail.ts"
    : taken.some((one) => one === text || one.startsWith(`${text}/`) || text.startsWith(`${one}/`))
      ? "There is a file or a folder of this name"
      : undefined
  return (
    <FormDialog
      title={path === undefined ? "Add a file" : `Rename ${path}`}
      verb={path === undefined ? "Add file" : "Rename"}
      failed="The file was not changed"
      run={() => {
        setChecked(true)
        if (problem === undefined) onPath(text)
        return undefined
      }}
      onClose={onClose}
    >
      <Field
        label="Path"
        value={text}
        maxLength={200}
        spellCheck={false}
        placeholder="lib/mail.ts"
        hint="deno.json has an import map and other options of Deno"
        problem={checked ? problem : undefined}
        onText={setText}
      />
    </FormDialog>
  )
}
