import { Choice, Without } from "../ui/page/Filters.tsx"
import type { Changes } from "../ui/page/useFilters.ts"
import type { Filters } from "./queries.ts"

interface FilterBarProps {
  readonly filters: Filters
  /** Undefined removes a filter. */
  readonly onChange: (changes: Changes<Filters>) => void
}

const statuses: ReadonlyArray<readonly [value: string, name: string]> = [
  ["2xx", "successful (2xx)"],
  ["3xx", "redirected (3xx)"],
  ["4xx", "refused (4xx)"],
  ["5xx", "errors (5xx)"]
]
const times: ReadonlyArray<readonly [value: string, name: string]> = [
  ["100", "over 100 ms"],
  ["1000", "over 1 s"],
  ["5000", "over 5 s"]
]

export const FilterBar = ({ filters, onChange }: FilterBarProps) => {
  const { dashboard, key, method, path, route, slower_than, status } = filters
  return (
    <div className="filters">
      <input
        type="search"
        className="field"
        aria-label="Search paths"
        placeholder="Search paths"
        value={path ?? ""}
        onChange={({ target }) => onChange({ path: target.value === "" ? undefined : target.value })}
      />
      <Choice
        label="Status"
        any="any status"
        value={status}
        choices={statuses}
        onChoose={(chosen) => onChange({ status: chosen })}
      />
      <Choice
        label="Duration"
        any="any duration"
        value={slower_than}
        choices={times}
        onChoose={(chosen) => onChange({ slower_than: chosen })}
      />
      <label>
        <input
          type="checkbox"
          checked={dashboard === "true"}
          onChange={({ target }) => onChange({ dashboard: target.checked ? "true" : undefined })}
        />
        Those of the dashboard
      </label>
      {route === undefined && method === undefined ? null : (
        <Without
          name={`${method ?? ""} ${route ?? ""}`.trim()}
          onRemove={() => onChange({ route: undefined, method: undefined })}
        />
      )}
      {key === undefined ? null : <Without name={`key ${key}`} onRemove={() => onChange({ key: undefined })} />}
    </div>
  )
}
