import "./reference.css"
import { Link, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { type Catalogue, useCatalogue } from "../catalogue/queries.ts"
import { useSettings, valuesOf } from "../catalogue/settings.ts"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { List, type ListColumn } from "../ui/List.tsx"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Facts } from "../ui/page/Facts.tsx"
import { Problem } from "../ui/Problem.tsx"

/** Entries that are listed at most; the others are found by typing. */
const most = 300

interface Entry {
  readonly kind: "table" | "view" | "function"
  readonly schema: string
  readonly name: string
  readonly about: string
}

/** What has an address. Functions of triggers can't be called; overloads share an address. */
const entriesOf = ({ functions, tables, views }: Catalogue): ReadonlyArray<Entry> => {
  const all = [
    ...tables.map(({ columns, comment, name, schema }): Entry => {
      return { kind: "table", schema, name, about: comment ?? plural(columns.length, "column") }
    }),
    ...views.map(({ columns, comment, name, schema }): Entry => {
      return { kind: "view", schema, name, about: comment ?? plural(columns.length, "column") }
    }),
    ...functions
      .filter(({ returns }) => returns !== "trigger" && returns !== "event_trigger")
      .map(({ arguments: given, comment, name, schema }): Entry => {
        return { kind: "function", schema, name, about: comment ?? `(${given})` }
      })
  ]
  return [...new Map(all.map((entry) => [`${entry.kind} ${entry.schema} ${entry.name}`, entry])).values()]
}

const columnsOf = (standard: string | undefined): ReadonlyArray<ListColumn<Entry>> => [
  {
    name: "Name",
    cell: ({ kind, name, schema }) => (
      <Link
        className="row-link"
        to={kind === "function" ? "/api/rpc/$schema/$name" : "/api/$schema/$name"}
        params={{ schema, name }}
        search={{}}
      >
        {schema === standard ? name : `${schema}.${name}`}
      </Link>
    )
  },
  { name: "Kind", cell: ({ kind }) => <span className="badge">{kind}</span> },
  { name: "About", cell: ({ about }) => <span className="soft cut">{about}</span> }
]

export const ApiPage = () => {
  const catalogue = useCatalogue()
  const settings = useSettings()
  const navigate = useNavigate()
  const [words, setWords] = useState("")
  const [standard] = valuesOf(settings.data ?? [], "SVC_DB_SCHEMAS")
  const all = catalogue.data === undefined ? [] : entriesOf(catalogue.data)
  const found = all.filter(({ name, schema }) => `${schema}.${name}`.toLowerCase().includes(words.toLowerCase().trim()))
  return (
    <div className="page">
      <div className="page-head">
        <h2>API</h2>
        <CopyRequest path="/v1/db/" />
        <a className="button" href="/openapi.json">
          OpenAPI
        </a>
        <a className="button main" href="/docs">
          All endpoints
        </a>
      </div>
      <p className="lead">
        Every table, view and function has an address, which apps use with a key. Choose one to see its requests with
        its own columns.
      </p>
      <Facts
        facts={[
          ["Address", <code key="address">{`${location.origin}/v1/db`}</code>],
          [
            "Key",
            <span key="key">
              header <code>apikey</code>, made under <Link to="/keys">API keys</Link>
            </span>
          ],
          [
            "Signed-in user",
            <span key="user">
              also <code>authorization: Bearer</code> with a JWT
            </span>
          ],
          [
            "What a caller may do",
            <span key="policies">
              decided by <Link to="/policies">policies</Link>; a service_role key bypasses them
            </span>
          ]
        ]}
      />
      <section className="part" aria-label="Tables, views and functions">
        <header>
          <h3>Tables, views and functions</h3>
          {all.length === 0 ? null : (
            <input
              type="search"
              className="field"
              aria-label="Search"
              placeholder="Search"
              value={words}
              onChange={(event) => setWords(event.target.value)}
              onKeyDown={(event) => {
                const [first] = found
                if (event.key !== "Enter" || first === undefined) return
                const { kind, name, schema } = first
                void navigate({
                  to: kind === "function" ? "/api/rpc/$schema/$name" : "/api/$schema/$name",
                  params: { schema, name },
                  search: {}
                })
              }}
            />
          )}
        </header>
        {catalogue.isPending || settings.isPending ? (
          <Skeleton lines={[100, 100, 100]} />
        ) : catalogue.isLoadingError ? (
          <Problem
            error={catalogue.error}
            title="The schema could not be read"
            onRetry={() => void catalogue.refetch()}
          />
        ) : all.length === 0 ? (
          <Empty
            icon="docs"
            title="Nothing to call yet"
            action={
              <Link className="button main" to="/sql">
                Open the SQL workbench
              </Link>
            }
          >
            Create a table, and its requests are described here.
          </Empty>
        ) : found.length === 0 ? (
          <p className="soft">Nothing has these words in its name.</p>
        ) : (
          <>
            <List
              label="API"
              columns={columnsOf(standard)}
              rows={found.slice(0, most)}
              keyOf={({ kind, name, schema }) => `${kind} ${schema}.${name}`}
            />
            {found.length > most ? (
              <p className="list-foot hint">
                The first {most} of {found.length}: type a part of the name.
              </p>
            ) : null}
          </>
        )}
      </section>
    </div>
  )
}
