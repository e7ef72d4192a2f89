import { Button } from "../ui/Button.tsx"
import { moment } from "../ui/format.ts"
import { copy } from "../ui/toast.ts"
import type { Change } from "../wire/changes/message.ts"
import { columnsOf } from "./events.ts"

const Value = ({ text }: { text: string | undefined }) =>
  text === undefined ? <span className="faint">–</span> : text === "NULL" ? <span className="faint">NULL</span> : text

/** One change: its row before and after. */
export const EventPanel = ({ change, onClose }: { change: Change; onClose: () => void }) => {
  const columns = columnsOf(change)
  const both = change.operation === "UPDATE"
  return (
    <aside className="event-panel" aria-label="Event">
      <header>
        <h3>
          {change.operation} <code>{change.table}</code>
        </h3>
        <Button kind="quiet" icon="copy" label="Copy as JSON" onClick={() => void copy(change.text, "Event")} />
        <Button kind="quiet" icon="x" label="Close" onClick={onClose} />
      </header>
      <p className="hint">
        {moment(change.at)} · <code>{change.id}</code>
      </p>
      {change.truncated ? (
        <p className="note">The row was too large for a notification: some of its columns are missing. Read the row.</p>
      ) : null}
      <table>
        <thead>
          <tr>
            <th scope="col">Column</th>
            {both ? <th scope="col">Before</th> : null}
            <th scope="col">{both ? "After" : change.operation === "DELETE" ? "Was" : "Value"}</th>
          </tr>
        </thead>
        <tbody>
          {columns.map(({ after, before, changed, name }) => (
            <tr key={name} className={changed ? "changed" : ""}>
              <th scope="row">
                <code>{name}</code>
                {changed ? <span className="badge warn">changed</span> : null}
              </th>
              {both ? (
                <td>
                  <Value text={before} />
                </td>
              ) : null}
              <td>
                <Value text={both ? after : (after ?? before)} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </aside>
  )
}
