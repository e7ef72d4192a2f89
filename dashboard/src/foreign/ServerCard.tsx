import { Link } from "@tanstack/react-router"
import { Button } from "../ui/Button.tsx"
import { plural } from "../ui/format.ts"
import type { ForeignTable, Server } from "./queries.ts"

export type ServerAct =
  | { readonly tag: "mapping"; readonly server: string; readonly step: boolean }
  | { readonly tag: "import"; readonly server: string; readonly step: boolean }
  | { readonly tag: "unmap"; readonly server: string; readonly role: string }
  | { readonly tag: "drop"; readonly server: string; readonly tables: number }

interface ServerCardProps {
  readonly server: Server
  readonly tables: ReadonlyArray<ForeignTable>
  /** The schemas that `/v1/db` serves, whose tables have a page. */
  readonly served: ReadonlyArray<string>
  readonly act: (act: ServerAct) => void
}

const optionOf = (options: ReadonlyArray<string>, name: string) =>
  options.find((option) => option.startsWith(`${name}=`))?.slice(name.length + 1)

/** Where a server is: `host:port/database`, or its options if it has others. */
const placeOf = ({ server_options }: Server) => {
  const [host, port, dbname] = ["host", "port", "dbname"].map((name) => optionOf(server_options, name))
  return host === undefined || dbname === undefined
    ? server_options.join(", ")
    : `${host.includes(":") ? `[${host}]` : host}:${port ?? "5432"}/${dbname}`
}

const Tables = ({ served, tables }: Pick<ServerCardProps, "served" | "tables">) => (
  <ul className="foreign-tables">
    {tables.map(({ columns, schema, table_name }) => (
      <li key={`${schema}.${table_name}`} title={columns.join(", ")}>
        {served.includes(schema) ? (
          <Link to="/tables/$schema/$table" params={{ schema, table: table_name }} search={{}}>
            {schema}.{table_name}
          </Link>
        ) : (
          <span>
            {schema}.{table_name}
          </span>
        )}
        <span className="faint">{plural(columns.length, "column")}</span>
      </li>
    ))}
  </ul>
)

/** A server with what it needs to be of use: a login, then tables. The next step is its main button. */
export const ServerCard = ({ act, served, server, tables }: ServerCardProps) => {
  const { fdw_name, server_name: name, user_mappings: roles } = server
  const next = roles.length === 0 ? "mapping" : tables.length === 0 ? "import" : undefined
  return (
    <section className="card" aria-label={name}>
      <h3>
        {name} <small>{fdw_name}</small>
      </h3>
      <p className="foreign-place">
        <code>{placeOf(server)}</code>
      </p>
      <div className="foreign-part">
        <h4>Logins</h4>
        {roles.length === 0 ? (
          <p className="soft">None yet: no role can read its tables.</p>
        ) : (
          <ul className="foreign-roles">
            {roles.map((role) => (
              <li key={role} className="badge">
                {role}
                <Button
                  kind="quiet"
                  icon="x"
                  label={`Remove the login of ${role}`}
                  onClick={() => act({ tag: "unmap", server: name, role })}
                />
              </li>
            ))}
          </ul>
        )}
      </div>
      <div className="foreign-part">
        <h4>Tables</h4>
        {tables.length === 0 ? <p className="soft">None imported yet.</p> : <Tables tables={tables} served={served} />}
      </div>
      <footer>
        <Button
          kind={next === "mapping" ? "main" : "plain"}
          onClick={() => act({ tag: "mapping", server: name, step: false })}
        >
          Add login
        </Button>
        <Button
          kind={next === "import" ? "main" : "plain"}
          onClick={() => act({ tag: "import", server: name, step: false })}
        >
          Import tables
        </Button>
        <span className="grow" />
        <Button kind="quiet" onClick={() => act({ tag: "drop", server: name, tables: tables.length })}>
          Drop server
        </Button>
      </footer>
    </section>
  )
}
