import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { Diff } from "../ui/json/Diff.tsx"
import { prettyJson } from "../ui/json/json.ts"
import { Problem } from "../ui/Problem.tsx"
import { toast } from "../ui/toast.ts"
import { call } from "../wire/call.ts"
import { type Environment, environmentOf, environments, type Flag, ifMatch } from "./queries.ts"
import { configurationOf } from "./versions.ts"

interface PromoteProps {
  readonly flag: Flag
  readonly from: Environment
  readonly onClose: () => void
  readonly onPromoted: (flag: Flag) => void
}

/** Copies state, rule and default variant to another environment, after showing what that changes there. */
export const Promote = ({ flag, from, onClose, onPromoted }: PromoteProps) => {
  const targets = environments.filter((name) => name !== from)
  const [to, setTo] = useState<Environment>(targets[from === "dev" ? 0 : targets.length - 1] ?? "production")
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const before = configurationOf(flag.environments[to])
  const after = configurationOf(flag.environments[from])
  const same = prettyJson(before) === prettyJson(after)
  const promote = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      const params = { key: flag.key }
      const headers = ifMatch(flag.revision)
      onPromoted(await call("POST /api/flags/:key/promote", { params, headers, payload: { from, to } }))
      toast(`${flag.key}: ${to} is now as ${from}`)
      onClose()
    } catch (error) {
      setFailure(error)
      setBusy(false)
    }
  }
  return (
    <Dialog label={`Promote ${flag.key}`} className="wide" onClose={onClose}>
      <DialogBody
        title={`Promote ${flag.key} from ${from}`}
        buttons={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button kind="main" busy={busy} disabled={same} onClick={() => void promote()}>
              Promote to {to}
            </Button>
          </>
        }
      >
        <div className="labelled">
          <label htmlFor="promote-to">To</label>
          <select
            id="promote-to"
            className="field"
            value={to}
            onChange={(event) => setTo(environmentOf(event.target.value) ?? to)}
          >
            {targets.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </div>
        {same ? (
          <p>
            State, default variant and rule of {to} are those of {from} already: there is nothing to promote.
          </p>
        ) : (
          <>
            <p>State, default variant and rule of {to} will change like this, at once:</p>
            <Diff label={`Changes in ${to}`} before={before} after={after} />
          </>
        )}
        {failure === undefined ? null : <Problem error={failure} title="The flag was not promoted" />}
      </DialogBody>
    </Dialog>
  )
}
