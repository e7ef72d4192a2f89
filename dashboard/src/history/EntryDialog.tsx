import { Link } from "@tanstack/react-router"
import { Button } from "../ui/Button.tsx"
import { Dialog, DialogBody } from "../ui/Dialog.tsx"
import { moment } from "../ui/format.ts"
import { Diff } from "../ui/json/Diff.tsx"
import { type Fact, Facts } from "../ui/page/Facts.tsx"
import { copy } from "../ui/toast.ts"
import type { Entry } from "./queries.ts"

export const nameOf = ({ actor: { id, label, type } }: Pick<Entry, "actor">) =>
  type === "unknown"
    ? "unknown"
    : type === "service"
      ? `the service (${label})`
      : label === ""
        ? `${type} ${id}`
        : label

/** Pages of subjects that have one of their own, by type. */
const SubjectLink = ({ subject }: { subject: string }) => {
  const colon = subject.indexOf(":")
  const [type, id] = [subject.slice(0, colon), subject.slice(colon + 1)]
  if (type === "flag") {
    return (
      <Link to="/flags/$key" params={{ key: id }}>
        The flag, with the history of its rules
      </Link>
    )
  }
  if (type === "identity") {
    return (
      <Link to="/people/$id" params={{ id }}>
        The account
      </Link>
    )
  }
  if (type === "queue") {
    return (
      <Link to="/queues/$queue" params={{ queue: id }}>
        The queue
      </Link>
    )
  }
  if (type === "webhook") {
    return (
      <Link to="/webhooks/$webhook" params={{ webhook: id }}>
        The webhook
      </Link>
    )
  }
  if (type === "schedule") {
    return (
      <Link to="/schedules/$schedule" params={{ schedule: id }}>
        The schedule
      </Link>
    )
  }
  if (type === "key") {
    return (
      <Link to="/requests" search={{ key: id }}>
        The latest requests of the key
      </Link>
    )
  }
  return null
}

const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

/** Of what the dashboard wrote to a database: where, how much, for how long. */
const ranOf = (after: Entry["after"]): ReadonlyArray<Fact> => {
  if (typeof after !== "object" || after === null || !("milliseconds" in after)) return []
  const { branch, milliseconds, rows } = after as Readonly<Record<string, unknown>>
  const counts = (isList(rows) ? rows : [rows]).map((one) => (typeof one === "number" ? String(one) : "–"))
  return [
    ["Database", branch === undefined ? "main" : `branch ${String(branch)}`],
    ["Rows", counts.join(", ")],
    ["Took", `${String(milliseconds)} ms`]
  ]
}

const statementsOf = (after: Entry["after"]): ReadonlyArray<string> => {
  const found = typeof after === "object" && after !== null && "statements" in after ? after["statements"] : undefined
  return isList(found) ? found.map(String) : []
}

export const EntryDialog = ({ entry, onClose }: { entry: Entry; onClose: () => void }) => {
  const { action, address, after, at, before, code, dashboard, outcome, request_id, status, subject } = entry
  const statements = statementsOf(after)
  const how = status === null ? outcome : `${outcome}: ${status}${code === null ? "" : ` ${code}`}`
  return (
    <Dialog label={`${action} ${subject}`} className="wide" onClose={onClose}>
      <DialogBody
        title={`${action} ${subject}`}
        buttons={
          <>
            {request_id === null ? null : (
              <Button icon="copy" onClick={() => void copy(request_id, "Request id")}>
                Copy request id
              </Button>
            )}
            <Button kind="main" onClick={onClose}>
              Close
            </Button>
          </>
        }
      >
        <Facts
          facts={[
            ["When", moment(at)],
            ["By", `${nameOf(entry)}${dashboard ? ", in the dashboard" : ""}`],
            ["From", address ?? "–"],
            ["Outcome", how],
            ["Request id", request_id ?? "–"],
            ...ranOf(after)
          ]}
        />
        {statements.length === 0 ? null : (
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls
          <pre tabIndex={0} role="region" aria-label="Statements">
            <code>{statements.join(";\n")}</code>
          </pre>
        )}
        {before === null && after === null ? null : statements.length > 0 ? null : (
          <Diff label="What changed" before={before ?? {}} after={after ?? {}} />
        )}
        <p>
          <SubjectLink subject={subject} />
        </p>
      </DialogBody>
    </Dialog>
  )
}
