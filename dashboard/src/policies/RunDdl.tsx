import type { ReactNode } from "react"
import { Confirm } from "../ui/Confirm.tsx"
import { toast } from "../ui/toast.ts"
import { runDdl } from "../catalogue/ddl.ts"

interface RunDdlProps {
  readonly title: string
  readonly verb: string
  readonly name: string | undefined
  readonly statements: ReadonlyArray<string>
  readonly done: string
  readonly children: ReactNode
  readonly onClose: () => void
  readonly onDone: () => Promise<unknown>
}

/** Shows the statements before it runs them. */
export const RunDdl = ({ children, done, name, onClose, onDone, statements, title, verb }: RunDdlProps) => (
  <Confirm
    title={title}
    verb={verb}
    name={name}
    onClose={onClose}
    run={async () => {
      await runDdl(statements)
      toast(done)
      await onDone()
    }}
  >
    {children}
    <pre className="policy-sql">{statements.join(";\n")}</pre>
  </Confirm>
)
