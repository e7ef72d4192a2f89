import { Choice, Without } from "../ui/page/Filters.tsx"
import type { Changes } from "../ui/page/useFilters.ts"
import type { Filters } from "./queries.ts"

interface HistoryFiltersProps {
  readonly filters: Filters
  /** Undefined removes a filter. */
  readonly onChange: (changes: Changes<Filters>) => void
}

/** First parts of actions, as pages of the dashboard call them. */
const kinds: ReadonlyArray<readonly [value: string, name: string]> = [
  ["sql", "SQL of the dashboard"],
  ["rows", "rows of tables"],
  ["key", "API keys"],
  ["dashboard", "dashboard sign-ins"],
  ["session", "administrators' sessions"],
  ["identity", "people"],
  ["oauth2", "OAuth clients and claims"],
  ["consent", "consents"],
  ["webhook", "webhooks"],
  ["schedule", "schedules"],
  ["queue", "queues"],
  ["realtime", "realtime"],
  ["flag", "flags and segments"],
  ["bucket", "buckets"],
  ["file_bucket", "buckets of Supabase's clients"],
  ["object", "objects"],
  ["branch", "branches"],
  ["backup", "backups"],
  ["migration", "migrations"],
  ["foreign", "foreign data"],
  ["environment", "environments"],
  ["connection", "connections"],
  ["workspace", "queries, views and boards"]
]
const outcomes: ReadonlyArray<readonly [value: string, name: string]> = [
  ["done", "done"],
  ["failed", "failed"],
  ["refused", "refused"]
]

const orUndefined = (text: string) => (text === "" ? undefined : text)

/** What the address has may be a time, or nothing that the field can show. */
const dayOf = (time: string | undefined) => /^\d{4}-\d\d-\d\d/.exec(time ?? "")?.[0] ?? ""

export const HistoryFilters = ({ filters, onChange }: HistoryFiltersProps) => {
  const { action, actor, from, outcome, request_id, subject, to } = filters
  return (
    <div className="filters">
      <Choice
        label="About"
        any="anything"
        value={action}
        choices={kinds}
        onChoose={(chosen) => onChange({ action: chosen })}
      />
      <Choice
        label="Outcome"
        any="any outcome"
        value={outcome}
        choices={outcomes}
        onChoose={(chosen) => onChange({ outcome: chosen })}
      />
      <label>
        From (UTC)
        <input
          type="date"
          className="field"
          value={dayOf(from)}
          onChange={({ target }) => onChange({ from: orUndefined(target.value) })}
        />
      </label>
      <label>
        before
        <input
          type="date"
          className="field"
          value={dayOf(to)}
          onChange={({ target }) => onChange({ to: orUndefined(target.value) })}
        />
      </label>
      {actor === undefined ? null : <Without name={`by ${actor}`} onRemove={() => onChange({ actor: undefined })} />}
      {subject === undefined ? null : <Without name={subject} onRemove={() => onChange({ subject: undefined })} />}
      {request_id === undefined ? null : (
        <Without name={`request ${request_id}`} onRemove={() => onChange({ request_id: undefined })} />
      )}
    </div>
  )
}
