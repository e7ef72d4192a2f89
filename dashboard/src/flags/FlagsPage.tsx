import "./flags.css"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Button } from "../ui/Button.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { ago } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { Problem } from "../ui/Problem.tsx"
import { NewFlag } from "./NewFlag.tsx"
import { type Environment, environments, type Flag, useFlags } from "./queries.ts"

/** Flags that are listed at most; the others are found by typing. */
const most = 300

const State = ({ environment, flag }: { flag: Flag; environment: Environment }) => {
  const { defaultVariant, state, targeting } = flag.environments[environment]
  const hasRule = Object.keys(targeting).length > 0
  return state === "DISABLED" ? (
    <span className="badge">disabled</span>
  ) : (
    <span className="flag-state">
      {hasRule ? "by rule" : <code title="The variant that all users get">{defaultVariant}</code>}
    </span>
  )
}

const newest = ({ environments: all }: Flag) =>
  environments.map((name) => all[name].last_evaluated_at ?? "").reduce((a, b) => (a > b ? a : b))

const columns: ReadonlyArray<ListColumn<Flag>> = [
  {
    name: "Flag",
    cell: (flag) => (
      <span className="flag-name">
        <Link to="/flags/$key" params={{ key: flag.key }} search={{}}>
          {flag.key}
        </Link>
        {flag.description === null ? null : <small>{flag.description}</small>}
      </span>
    )
  },
  { name: "Type", cell: ({ type }) => <span className="badge">{type}</span> },
  ...environments.map((environment) => ({
    name: environment,
    cell: (flag: Flag) => <State flag={flag} environment={environment} />
  })),
  {
    name: "Last evaluated",
    cell: (flag) => {
      const at = newest(flag)
      return at === "" ? <span className="faint">never</span> : <time dateTime={at}>{ago(at)}</time>
    }
  }
]

export const FlagsPage = () => {
  const flags = useFlags()
  const navigate = useNavigate()
  const [making, setMaking] = useState(false)
  const [words, setWords] = useState("")
  const letters = words.toLowerCase().trim()
  const found = (flags.data ?? []).filter(({ description, key }) =>
    `${key} ${description ?? ""}`.toLowerCase().includes(letters)
  )
  const make = (
    <Button kind="main" icon="plus" onClick={() => setMaking(true)}>
      Create flag
    </Button>
  )
  return (
    <div className="page">
      <div className="page-head">
        <h2>Feature flags</h2>
        <CopyRequest path="/api/flags" />
        {flags.data?.length === 0 ? null : make}
      </div>
      <p className="lead">
        A flag is one of its <b>variants</b>, by a rule of its own in each of three environments. Clients ask for it by
        OFREP, flagd&apos;s protocols or <code>/api/flags/evaluate</code>; a change is active at once.
      </p>
      {flags.isPending ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : flags.isLoadingError ? (
        <Problem error={flags.error} title="The flags could not be read" onRetry={() => void flags.refetch()} />
      ) : flags.data.length === 0 ? (
        <Empty icon="flag" title="No flags yet" action={make}>
          A flag turns a feature on for some users, and off again without a release.
        </Empty>
      ) : (
        <>
          <input
            className="field flag-search"
            type="search"
            placeholder="Find a flag"
            aria-label="Find a flag"
            value={words}
            onChange={(event) => setWords(event.target.value)}
          />
          {found.length === 0 ? (
            <Empty icon="flag" title="No flag matches" action={<Button onClick={() => setWords("")}>Clear</Button>}>
              Neither the key nor the description of a flag contains these words.
            </Empty>
          ) : (
            <List label="Feature flags" columns={columns} rows={found.slice(0, most)} keyOf={({ key }) => key} />
          )}
          {found.length > most ? <p className="hint">{found.length - most} more: narrow the search down.</p> : null}
        </>
      )}
      {making ? (
        <NewFlag
          onClose={() => setMaking(false)}
          onMade={(key) => navigate({ to: "/flags/$key", params: { key }, search: {} })}
        />
      ) : null}
    </div>
  )
}
