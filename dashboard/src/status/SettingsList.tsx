import { useNavigate, useSearch } from "@tanstack/react-router"
import { type Setting, useSettings } from "../catalogue/settings.ts"
import { Skeleton } from "../ui/Empty.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"

const columns: ReadonlyArray<ListColumn<Setting>> = [
  { name: "Variable", cell: ({ name }) => <code>{name}</code> },
  {
    name: "Value",
    cell: ({ is_set, value }) => (
      <span className="setting-value">
        {value === null ? <span className="faint">not set</span> : <code>{value}</code>}{" "}
        {is_set ? <span className="badge accent">set</span> : null}
      </span>
    )
  },
  {
    name: "Default",
    cell: (setting) =>
      setting.default === null ? (
        <span className="faint">none</span>
      ) : (
        <code className="setting-value">{setting.default}</code>
      )
  }
]

/** What holds in the process that responds. The address has what is searched for. */
export const SettingsList = () => {
  const search = useSearch({ strict: false }) as { readonly setting?: string; readonly set?: string }
  const navigate = useNavigate()
  const words = search.setting ?? ""
  const onlySet = search.set === "true"
  const settings = useSettings()
  const go = (setting: string, set: boolean) =>
    void navigate({
      to: "/status",
      search: { ...(setting === "" ? {} : { setting }), ...(set ? { set: "true" } : {}) },
      replace: true
    })
  const found = (settings.data ?? []).filter(
    ({ is_set, name, value }) =>
      (is_set || !onlySet) && `${name} ${value ?? ""}`.toLowerCase().includes(words.toLowerCase().trim())
  )
  return (
    <section className="part" aria-label="Settings">
      <header>
        <h3>Settings</h3>
        <label className="only-set">
          <input type="checkbox" checked={onlySet} onChange={(event) => go(words, event.target.checked)} />
          Only those that are set
        </label>
        <input
          type="search"
          className="field"
          aria-label="Search settings"
          placeholder="Search settings"
          value={words}
          onChange={(event) => go(event.target.value, onlySet)}
        />
      </header>
      {settings.isLoadingError ? (
        <Problem
          error={settings.error}
          title="The settings could not be read"
          onRetry={() => void settings.refetch()}
        />
      ) : settings.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : found.length === 0 ? (
        <p className="soft">No setting has these words.</p>
      ) : (
        <List label="Settings" columns={columns} rows={found} keyOf={({ name }) => name} />
      )}
    </section>
  )
}
