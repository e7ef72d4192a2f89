import "./connect.css"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { useState } from "react"
import { useCatalogue } from "../catalogue/queries.ts"
import { useSettings, valueOf, valuesOf } from "../catalogue/settings.ts"
import { Facts } from "../ui/page/Facts.tsx"
import { Segments } from "../ui/page/Segments.tsx"
import { withKey } from "./ask.ts"
import { NewKey } from "./NewKey.tsx"
import { programOf, programs } from "./programs.ts"
import { Snippet } from "./Snippet.tsx"

/** How many tables and functions the key reaches. */
const check = async (secret: string) => {
  const document = (await withKey("/v1/db/", { apikey: secret })) as {
    readonly paths: object
  }
  const paths = Object.keys(document.paths).filter((path) => path !== "/")
  return `The key works: it reaches ${paths.length === 0 ? "no table yet" : paths.join(", ")}.`
}

const Addresses = () => {
  const { host, origin, protocol } = location
  return (
    <Facts
      facts={[
        ["Rows and functions", <code key="rows">{`${origin}/v1/db`}</code>],
        ["SQL, for servers", <code key="sql">{`${origin}/v1/sql`}</code>],
        ["Changes (WebSocket)", <code key="ws">{`${protocol === "https:" ? "wss" : "ws"}://${host}/realtime`}</code>],
        ["Feature flags (OFREP)", <code key="flags">{`${origin}/ofrep/v1`}</code>],
        [
          "Sign-in (OpenID Connect)",
          <span key="oidc">
            <code>{`${origin}/.well-known/openid-configuration`}</code>, with an <Link to="/clients">OAuth client</Link>
          </span>
        ],
        [
          "PostgreSQL clients",
          <span key="pg">
            <code>svc db-url</code> prints the address on the server
          </span>
        ]
      ]}
    />
  )
}

export const AppPage = () => {
  const settings = useSettings()
  const catalogue = useCatalogue()
  const navigate = useNavigate()
  const search = useSearch({ strict: false }) as { readonly program?: string }
  const [key, setKey] = useState<string>()
  const program = programs.find(([one]) => one === search.program)?.[0] ?? "env"
  const [standard] = valuesOf(settings.data ?? [], "SVC_DB_SCHEMAS")
  const table = catalogue.data?.tables.find(({ schema }) => schema === standard)?.name
  const needsSupabase =
    program === "supabase" && settings.data !== undefined && valueOf(settings.data, "SVC_SUPABASE") !== "true"
  return (
    <div className="page">
      <div className="page-head">
        <h2>Connect an app</h2>
        <a className="button" href="/docs">
          All endpoints
        </a>
      </div>
      <p className="lead">
        An app needs this address and an anon key, which may be public: <Link to="/policies">policies</Link> decide what
        it may do. What is on this page works as it is.
      </p>
      <section className="part" aria-label="Key">
        <header>
          <h3>1. A key</h3>
        </header>
        <NewKey type="anon" label="app" limit={null} secret={key} onSecret={setKey} check={check} />
      </section>
      <section className="part" aria-label="Program">
        <header>
          <h3>2. A program</h3>
        </header>
        <Segments
          label="Program"
          options={programs}
          value={program}
          onValue={(next) => void navigate({ to: ".", search: { program: next }, replace: true })}
        />
        {needsSupabase ? (
          <p className="hint">
            Supabase&apos;s clients need <code>SVC_SUPABASE=true</code>, which is not set on this service.
          </p>
        ) : null}
        <Snippet label="Program" text={programOf(program, { origin: location.origin, key, type: "anon", table })} />
        <p className="hint">
          {table === undefined ? (
            <>
              The database has no table yet: <Link to="/sql">create one</Link>, then it is named here.
            </>
          ) : (
            <>
              The requests of each table and function are under <Link to="/api">API</Link>.
            </>
          )}
        </p>
      </section>
      <section className="part" aria-label="Addresses">
        <header>
          <h3>Addresses</h3>
        </header>
        <Addresses />
      </section>
    </div>
  )
}
