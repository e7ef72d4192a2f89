import { useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { Labelled } from "../ui/Field.tsx"
import { FormDialog } from "../ui/FormDialog.tsx"
import { plural } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

type Import = Wire["POST /api/identities/import"]
type Result = Import["success"]["results"][number]
type Given = Import["payload"]["identities"][number]

/** As many as one request takes. */
const batch = 1000

/** The accounts of a file: an array, as an export has, or an object with one, as the API takes. */
const accountsIn = (text: string): ReadonlyArray<Given> | undefined => {
  try {
    const given: unknown = JSON.parse(text)
    const all = Array.isArray(given) ? given : (given as { readonly identities?: unknown } | null)?.identities
    return Array.isArray(all) && all.length > 0 ? (all as ReadonlyArray<Given>) : undefined
  } catch {
    return undefined
  }
}

const columns: ReadonlyArray<ListColumn<Result>> = [
  { name: "Address", cell: ({ email }) => email },
  { name: "Why not", cell: ({ error }) => error }
]

interface ImportPeopleProps {
  readonly onClose: () => void
}

/** Creates accounts from a JSON file, with the passwords that they had elsewhere. */
export const ImportPeople = ({ onClose }: ImportPeopleProps) => {
  const queries = useQueryClient()
  const [accounts, setAccounts] = useState<ReadonlyArray<Given>>()
  const [problem, setProblem] = useState<string>()
  const [results, setResults] = useState<ReadonlyArray<Result>>()
  if (results !== undefined) {
    const failed = results.filter(({ error }) => error !== null)
    return (
      <Dialog label="The import" className="wide" onClose={onClose}>
        <DialogBody
          title={`${plural(results.length - failed.length, "account")} created`}
          buttons={
            <Button kind="main" onClick={onClose}>
              Close
            </Button>
          }
        >
          {failed.length === 0 ? (
            <p>They sign in with the passwords that they have.</p>
          ) : (
            <>
              <p>{plural(failed.length, "account")} could not be created; nothing was changed for these.</p>
              <List label="Not imported" columns={columns} rows={failed} keyOf={({ email }) => email} />
            </>
          )}
        </DialogBody>
      </Dialog>
    )
  }
  const read = async (file: File | undefined) => {
    setAccounts(undefined)
    if (file === undefined) return
    const found = accountsIn(await file.text())
    setAccounts(found)
    setProblem(found === undefined ? "The file is not a JSON array of accounts" : undefined)
  }
  return (
    <FormDialog
      title="Import people"
      verb={accounts === undefined ? "Import" : `Import ${plural(accounts.length, "account")}`}
      failed="The import has stopped; accounts before the fault are created"
      waits
      run={() => {
        if (accounts === undefined) {
          setProblem((before) => before ?? "A file is needed")
          return
        }
        return (async () => {
          const done: Array<Result> = []
          try {
            for (let first = 0; first < accounts.length; first += batch) {
              const identities = accounts.slice(first, first + batch)
              done.push(...(await call("POST /api/identities/import", { payload: { identities } })).results)
            }
          } finally {
            if (done.length > 0) void queries.invalidateQueries({ queryKey: ["people", "list"] })
          }
          setResults(done)
        })()
      }}
      onClose={onClose}
    >
      <div className="dialog-text">
        <p>
          A JSON file, as <code>npm run account -- export</code> writes it, or accounts with <code>email</code> and, if
          they have one, <code>password_hash</code> (argon2 or bcrypt).
        </p>
      </div>
      <Labelled label="File" problem={problem}>
        {(attributes) => (
          <input
            {...attributes}
            type="file"
            accept=".json,application/json"
            onChange={(event) => void read(event.target.files?.[0])}
          />
        )}
      </Labelled>
    </FormDialog>
  )
}
