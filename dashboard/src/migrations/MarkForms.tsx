import { useQueryClient } from "@tanstack/react-query"
import { plural } from "../ui/format.ts"
import { FormDialog } from "../ui/FormDialog.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"

const useMarked = (onClose: () => void) => {
  const client = useQueryClient()
  return async (
    mark: Promise<{ readonly marked: ReadonlyArray<string> }>,
    said: (names: ReadonlyArray<string>) => string
  ) => {
    try {
      const { marked } = await mark
      toast(said(marked))
      onClose()
    } finally {
      void client.invalidateQueries({ queryKey: ["migrations"] })
    }
  }
}

interface BaselineFormProps {
  /** The pending migrations in their order, up to the one that the database has already. */
  readonly names: ReadonlyArray<string>
  readonly onClose: () => void
}

/** Marks migrations as applied that were never run here. */
export const BaselineForm = ({ names, onClose }: BaselineFormProps) => {
  const marked = useMarked(onClose)
  const through = names.at(-1) ?? ""
  return (
    <FormDialog
      title={`Mark ${plural(names.length, "migration")} as applied?`}
      verb="Mark as applied"
      failed="Nothing was marked"
      run={() =>
        marked(
          call("POST /api/migrations/baseline", { payload: { through } }),
          (names) => `${plural(names.length, "migration")} marked as applied`
        )
      }
      onClose={onClose}
    >
      <p>
        Nothing is run: the history then says that the database has what these files make. If it does not, later ones
        will fail.
      </p>
      <ol className="migration-names">
        {names.map((name) => (
          <li key={name}>
            <code>{name}</code>
          </li>
        ))}
      </ol>
    </FormDialog>
  )
}

interface ResolveFormProps {
  readonly name: string
  readonly as: "applied" | "rolled_back"
  readonly onClose: () => void
}

/** Ends an attempt that failed halfway, once a person has looked at the database. */
export const ResolveForm = ({ as, name, onClose }: ResolveFormProps) => {
  const marked = useMarked(onClose)
  const applied = as === "applied"
  return (
    <FormDialog
      title={applied ? `Is all of ${name} applied?` : `Is all of ${name} undone?`}
      verb={applied ? "Mark as applied" : "Mark as rolled back"}
      failed="Nothing was marked"
      run={() =>
        marked(call("POST /api/migrations/resolve", { payload: { name, as } }), () =>
          applied ? `${name} is marked as applied` : `${name} is pending again`
        )
      }
      onClose={onClose}
    >
      <p>
        {applied
          ? "The history then says that the database has everything that the file makes. Apply the rest of it by hand before."
          : "The next run applies the whole file again. Undo what it has begun before: a second time it may fail, or do it twice."}
      </p>
    </FormDialog>
  )
}
