import { useQueryClient } from "@tanstack/react-query"
import { type ReactNode, useState } from "react"
import { runDdl } from "../../catalogue/ddl.ts"
import { Confirm } from "../../ui/Confirm.tsx"
import { Switch } from "../../ui/Field.tsx"
import { toast } from "../../ui/toast.ts"

/** Attributes of a field for SQL and names, in which a browser must not help. */
export const unassisted = { autoComplete: "off", spellCheck: false } as const

interface FormSqlProps {
  /** What must be mended before there are statements. */
  readonly problems: ReadonlyArray<string>
  readonly statements: ReadonlyArray<string>
}

/** The statements that a form runs, as they are at the moment. */
export const FormSql = ({ problems, statements }: FormSqlProps) => (
  <pre role="region" aria-label="SQL" className="form-sql">
    {problems.length > 0
      ? problems.map((problem) => `-- ${problem}`).join("\n")
      : statements.length === 0
        ? "-- Nothing is changed yet"
        : statements.map((statement) => `${statement};`).join("\n")}
  </pre>
)

/** Runs the statements of a form, and has the pages read what they changed. */
export const useDdl = () => {
  const client = useQueryClient()
  return async (done: string, run: () => Promise<unknown>) => {
    try {
      await run()
    } finally {
      // Also after a failure: a part that runs alone may have been done.
      await client.invalidateQueries({ queryKey: ["catalogue"] })
    }
    toast(done)
  }
}

export interface Drop {
  /** Such as "index". */
  readonly what: string
  readonly name: string
  /** Whether the name must be typed, also without what depends on it. */
  readonly named: boolean
  /** Undefined: nothing can depend on it. */
  readonly cascades: string | undefined
  readonly sql: (cascade: boolean) => string
  readonly words: ReactNode
}

interface DropObjectProps {
  readonly drop: Drop
  readonly onClose: () => void
}

/** Before something of the schema is dropped. With what depends on it, it is never a trifle. */
export const DropObject = ({ drop, onClose }: DropObjectProps) => {
  const ddl = useDdl()
  const [cascade, setCascade] = useState(false)
  const { cascades, name, named, sql, what, words } = drop
  return (
    <Confirm
      title={`Drop ${name}?`}
      verb={`Drop ${what}`}
      name={named || cascade ? name : undefined}
      onClose={onClose}
      run={() => ddl(`${name} dropped`, () => runDdl([sql(cascade)]))}
    >
      <p>{words}</p>
      {cascades === undefined ? null : (
        <Switch attention checked={cascade} onChange={setCascade}>
          {cascades}
        </Switch>
      )}
      <pre>{sql(cascade)}</pre>
    </Confirm>
  )
}
