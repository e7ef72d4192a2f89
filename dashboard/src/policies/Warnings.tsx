import type { Catalogue } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Icon } from "../ui/Icon.tsx"
import { copy } from "../ui/toast.ts"

const most = 5

/** Views and functions by which callers may see what policies hide. */
export const Warnings = ({ warnings }: { warnings: Catalogue["warnings"] }) =>
  warnings.length === 0 ? null : (
    <ul className="policy-warnings" aria-label="Warnings">
      {warnings.slice(0, most).map(({ hint, message, name, schema }) => (
        <li key={`${schema}.${name}`}>
          <Icon name="alert" />
          <span>{message}</span>
          <Button kind="quiet" icon="copy" onClick={() => void copy(hint, "SQL")}>
            Copy the fix
          </Button>
        </li>
      ))}
      {warnings.length > most ? <li>and {warnings.length - most} more</li> : null}
    </ul>
  )
