import "./schema.css"
import { Link, useNavigate, useSearch } from "@tanstack/react-router"
import { lazy, Suspense, useMemo, useState } from "react"
import { type Catalogue, type Table, useCatalogue, useWholeCatalogue } from "../catalogue/queries.ts"
import { CopyRequest } from "../ui/page/CopyRequest.tsx"
import { Empty, Skeleton } from "../ui/Empty.tsx"
import { plural } from "../ui/format.ts"
import { Problem } from "../ui/Problem.tsx"
import { Menu, MenuItem, Popover } from "../ui/Popover.tsx"
import { schemaDrop } from "./drops.ts"
import type { SchemaDialog } from "./forms/Forms.tsx"
import { Enums, Functions, Views } from "./Others.tsx"
import { useDefinitions } from "./queries.ts"
import { TableCard } from "./TableCard.tsx"
import { TypesButton } from "./TypesButton.tsx"

const Diagram = lazy(async () => ({ default: (await import("./Diagram.tsx")).Diagram }))

const Forms = lazy(async () => ({ default: (await import("./forms/Forms.tsx")).Forms }))

/** Tables that are listed at most; the others are found by typing. */
const most = 100
/** Tables that are drawn at most: to arrange so many takes a fifth of a second. */
const mostDrawn = 300

interface View {
  readonly view: "list" | "diagram"
  readonly schema: string
  readonly words: string
}

const viewOf = (search: Readonly<Record<string, unknown>>, schemas: ReadonlyArray<string>, first: string): View => ({
  view: search["view"] === "diagram" ? "diagram" : "list",
  schema: schemas.find((name) => name === search["schema"]) ?? first,
  words: typeof search["find"] === "string" ? search["find"] : ""
})

interface FilledProps {
  /** Of all schemas. */
  readonly catalogue: Catalogue
  /** Of those that are exposed. */
  readonly open: Catalogue
}

const Filled = ({ catalogue, open }: FilledProps) => {
  const navigate = useNavigate()
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false })
  const first = open.schemas[0] ?? "public"
  const definitions = useDefinitions().data
  const schemas = definitions?.schemas.map(({ name }) => name) ?? catalogue.schemas
  const { schema, view, words } = viewOf(search, schemas, first)
  const exposed = open.schemas.includes(schema)
  const found = useMemo(() => {
    const letters = words.toLowerCase().trim()
    const has = ({ columns, name }: Table) =>
      [name, ...columns.map((column) => column.name)].some((text) => text.toLowerCase().includes(letters))
    return catalogue.tables.filter((table) => table.schema === schema && has(table))
  }, [catalogue, schema, words])
  const [dialog, setDialog] = useState<SchemaDialog>()
  const constraints = new Set(
    definitions?.constraints.flatMap((one) => (one.schema === schema ? [one.name] : [])) ?? []
  )
  const go = (part: Partial<View>) => {
    const next = { schema, view, words, ...part }
    void navigate({
      to: "/schema",
      replace: true,
      search: {
        ...(next.schema === first ? {} : { schema: next.schema }),
        ...(next.view === "list" ? {} : { view: next.view }),
        ...(next.words === "" ? {} : { find: next.words })
      }
    })
  }
  const keep = { ...(schema === first ? {} : { schema }), ...(words === "" ? {} : { find: words }) }
  return (
    <>
      <div className="schema-bar">
        <nav className="schema-tabs" aria-label="Form">
          <Link
            to="/schema"
            search={keep}
            activeOptions={{ exact: true }}
            aria-current={view === "list" ? "page" : undefined}
          >
            List
          </Link>
          <Link
            to="/schema"
            search={{ ...keep, view: "diagram" }}
            aria-current={view === "diagram" ? "page" : undefined}
          >
            Diagram
          </Link>
        </nav>
        {schemas.length < 2 ? null : (
          <select
            className="field"
            aria-label="Schema"
            value={schema}
            onChange={(event) => go({ schema: event.target.value })}
          >
            {schemas.map((name) => (
              <option key={name} value={name}>
                {open.schemas.includes(name) ? name : `${name} (not exposed)`}
              </option>
            ))}
          </select>
        )}
        <input
          className="field"
          type="search"
          placeholder="Find a table or column"
          aria-label="Find a table or column"
          value={words}
          onChange={(event) => go({ words: event.target.value })}
        />
        <span className="faint">{plural(found.length, "table")}</span>
        <span className="grow" />
        <Popover icon="plus" label="Create" trigger="Create" align="end">
          {(close) => {
            const entry = (words: string, act: () => void, danger = false) => (
              <MenuItem
                danger={danger}
                onClick={() => {
                  close()
                  act()
                }}
              >
                {words}
              </MenuItem>
            )
            return (
              <Menu>
                {entry("Table…", () => void navigate({ to: "/tables", search: { new: "table", in: schema } }))}
                {entry("Enum…", () => setDialog({ tag: "enum", type: undefined }))}
                {entry("Function…", () => setDialog({ tag: "function", stored: undefined }))}
                {entry("Schema…", () => setDialog({ tag: "schema" }))}
                <hr />
                {entry(
                  `Drop schema ${schema}…`,
                  () => {
                    const inside = catalogue.tables.filter((table) => table.schema === schema)
                    setDialog({ tag: "drop", drop: schemaDrop(schema, inside) })
                  },
                  true
                )}
              </Menu>
            )
          }}
        </Popover>
      </div>
      {exposed ? null : (
        <p className="lead">
          This schema is not in <code>SVC_DB_SCHEMAS</code>: its tables are reached by SQL, not by <code>/v1/db</code>.
        </p>
      )}
      {found.length === 0 ? (
        <Empty icon="schema" title={words === "" ? "No tables yet" : "No table matches"}>
          {words === ""
            ? `A table that is created in the schema ${schema}, by SQL or a migration, is here at once.`
            : "No table or column of this schema contains these letters."}
        </Empty>
      ) : view === "list" ? (
        <div className="schema-list">
          {found.slice(0, most).map((table) => (
            <TableCard
              key={table.name}
              table={table}
              catalogue={catalogue}
              open={open}
              act={setDialog}
              constraints={constraints}
            />
          ))}
          {found.length > most ? <p className="hint">{found.length - most} more: narrow the search down.</p> : null}
        </div>
      ) : found.length > mostDrawn ? (
        <Empty icon="schema" title="Too many tables for a picture">
          {found.length} tables can&apos;t be read in one picture: search for those that you need, up to {mostDrawn}.
        </Empty>
      ) : (
        <Suspense fallback={<Skeleton lines={[100, 100, 100]} />}>
          <Diagram tables={found} opens={exposed} />
        </Suspense>
      )}
      {view === "list" && words === "" ? (
        <>
          <Views views={catalogue.views.filter((one) => one.schema === schema)} opens={exposed} act={setDialog} />
          <Enums enums={definitions?.enums.filter((one) => one.schema === schema) ?? []} act={setDialog} />
          <Functions functions={definitions?.functions.filter((one) => one.schema === schema) ?? []} act={setDialog} />
        </>
      ) : null}
      {dialog === undefined ? null : (
        <Suspense>
          <Forms
            dialog={dialog}
            schema={schema}
            onClose={() => setDialog(undefined)}
            onSchema={(name) => go({ schema: name, words: "" })}
          />
        </Suspense>
      )}
    </>
  )
}

export const SchemaPage = () => {
  const open = useCatalogue()
  const catalogue = useWholeCatalogue()
  const failed = [open, catalogue].find(({ isLoadingError }) => isLoadingError)
  return (
    <div className="page">
      <div className="page-head">
        <h2>Schema</h2>
        <CopyRequest path="/v1/database/schema?all=true" />
        <TypesButton />
      </div>
      {failed !== undefined ? (
        <Problem error={failed.error} title="The schema could not be read" onRetry={() => void failed.refetch()} />
      ) : open.data === undefined || catalogue.data === undefined ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : (
        <Filled catalogue={catalogue.data} open={open.data} />
      )}
    </div>
  )
}
