import "./reference.css"
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { type ReactNode } from "react"
import { useCatalogue } from "../catalogue/queries.ts"
import { useSettings, valuesOf } from "../catalogue/settings.ts"
import { Skeleton } from "../ui/Empty.tsx"
import { Gone } from "../ui/page/Gone.tsx"
import { Segments } from "../ui/page/Segments.tsx"
import { Problem } from "../ui/Problem.tsx"
import { place } from "../wire/place.ts"
import { CallCard } from "./CallCard.tsx"
import { type Call, callsOf, functionCall, type Subject, subjectOf } from "./calls.ts"
import { type Caller, callers, type Client, clients } from "./clients.ts"
import { useArguments, useRow } from "./queries.ts"

interface Names {
  readonly schema: string
  readonly name: string
}

/** What the chosen caller sees, which is what surprises newcomers. */
const Rights = ({ caller, table }: { caller: Caller; table: Subject["table"] }) => {
  const policies = table && (
    <Link to="/policies/$schema/$table" params={{ schema: table.schema, table: table.name }}>
      policies
    </Link>
  )
  return (
    <p className="hint call-rights">
      {caller === "service_role" ? (
        "It has all rights: use it on servers only, never in an app or a browser."
      ) : table === undefined || table.row_level_security.enabled ? (
        <>
          {caller === "user"
            ? "USER_TOKEN is the JWT of a signed-in user. "
            : "ANON_KEY may be part of an app that everyone can read. "}
          {table === undefined
            ? "Grants and policies decide what it may do."
            : table.policies.length === 0
              ? "This table has no policy, so its rows are closed. See its "
              : "Which rows it gets is decided by its "}
          {table === undefined ? null : <>{policies}.</>}
        </>
      ) : (
        <>Row-level security of this table is off: every caller with a grant gets all rows. See its {policies}.</>
      )}
    </p>
  )
}

interface CallsProps extends Names {
  readonly calls: ReadonlyArray<Call>
  readonly profile: string | undefined
  readonly table: Subject["table"]
  readonly children?: ReactNode
}

/** The requests in the chosen client and as the chosen caller, which are part of the address. */
const Calls = ({ calls, children, name, profile, schema, table }: CallsProps) => {
  const search = useSearch({ strict: false }) as { readonly client?: string; readonly caller?: string }
  const navigate = useNavigate()
  const target = { origin: location.origin, profile, branch: place.branch }
  const client = clients.find(([one]) => one === search.client)?.[0] ?? "curl"
  const caller = callers.find(([one]) => one === search.caller)?.[0] ?? "anon"
  const go = (next: { readonly client?: Client; readonly caller?: Caller }) =>
    void navigate({ to: ".", search: { client, caller, ...next }, replace: true })
  return (
    <div className="page">
      <div className="page-head">
        <h2>{name}</h2>
        {children}
        <a className="button" href="/docs">
          All endpoints
        </a>
      </div>
      <div className="call-choices">
        <Segments label="Client" options={clients} value={client} onValue={(client) => go({ client })} />
        <Segments label="Caller" options={callers} value={caller} onValue={(caller) => go({ caller })} />
      </div>
      <Rights caller={caller} table={table} />
      {profile === undefined ? null : (
        <p className="hint call-rights">
          The schema <code>{schema}</code> is not the default one, so a header names it.
        </p>
      )}
      <div className="calls">
        {calls.map((call) => (
          <CallCard key={call.title} call={call} client={client} target={{ ...target, caller }} />
        ))}
      </div>
    </div>
  )
}

/** A header names every schema but the first, which is the default. */
const useProfile = (schema: string) => {
  const settings = useSettings()
  const [standard] = valuesOf(settings.data ?? [], "SVC_DB_SCHEMAS")
  return { settings, profile: schema === standard ? undefined : schema }
}

const Nothing = ({ name, schema }: Names) => (
  <Gone icon="docs" title={`There is no ${schema}.${name}`}>
    <Link className="button" to="/api">
      All tables and functions
    </Link>
  </Gone>
)

const Failed = ({ error, onRetry }: { error: unknown; onRetry: () => void }) => (
  <div className="page">
    <Problem error={error} title="The schema could not be read" onRetry={onRetry} />
  </div>
)

const Reading = () => (
  <div className="page">
    <Skeleton lines={[40, 100, 100]} />
  </div>
)

const TableCalls = ({ name, schema }: Names) => {
  const catalogue = useCatalogue()
  const { profile, settings } = useProfile(schema)
  const row = useRow(name, profile, settings.data !== undefined)
  const failed = catalogue.error ?? settings.error
  if (failed !== null)
    return <Failed error={failed} onRetry={() => void Promise.all([catalogue.refetch(), settings.refetch()])} />
  if (catalogue.data === undefined || row.isPending) return <Reading />
  const found = subjectOf(catalogue.data, schema, name)
  if (found === undefined) return <Nothing schema={schema} name={name} />
  const enums = Object.fromEntries(catalogue.data.enums.map(({ type, values }) => [type, values]))
  const subject: Subject = { ...found, row: row.data ?? undefined, enums }
  return (
    <Calls schema={schema} name={name} profile={profile} table={found.table} calls={callsOf(subject)}>
      <Link className="button" to="/tables/$schema/$table" params={{ schema, table: name }} search={{}}>
        Rows
      </Link>
    </Calls>
  )
}

const FunctionCalls = ({ name, schema }: Names) => {
  const catalogue = useCatalogue()
  const { profile, settings } = useProfile(schema)
  const given = useArguments(name, profile, settings.data !== undefined)
  const failed = catalogue.error ?? settings.error ?? given.error
  if (failed !== null) {
    const all = [catalogue, settings, given]
    return <Failed error={failed} onRetry={() => void Promise.all(all.map((one) => one.refetch()))} />
  }
  if (catalogue.data === undefined || given.isPending) return <Reading />
  const found = catalogue.data.functions.find((one) => one.schema === schema && one.name === name)
  if (found === undefined) return <Nothing schema={schema} name={name} />
  const silent = found.returns === "void"
  return (
    <Calls
      schema={schema}
      name={name}
      profile={profile}
      table={undefined}
      calls={[functionCall(name, given.data ?? {}, silent)]}
    />
  )
}

export const TableCallsPage = () => {
  const { name = "", schema = "" } = useParams({ strict: false }) as Partial<Names>
  return <TableCalls key={`${schema}.${name}`} schema={schema} name={name} />
}

export const FunctionCallsPage = () => {
  const { name = "", schema = "" } = useParams({ strict: false }) as Partial<Names>
  return <FunctionCalls key={`${schema}.${name}`} schema={schema} name={name} />
}
