import { Link } from "@tanstack/react-router"
import type { Catalogue } from "../catalogue/queries.ts"
import { List, type ListColumn } from "../ui/List.tsx"

type View = Catalogue["views"][number]
type Function = Catalogue["functions"][number]

const viewColumns = (opens: boolean): ReadonlyArray<ListColumn<View>> => [
  {
    name: "View",
    cell: ({ name, schema }) =>
      opens ? (
        <Link to="/tables/$schema/$table" params={{ schema, table: name }} search={{}}>
          {name}
        </Link>
      ) : (
        name
      )
  },
  { name: "Kind", cell: ({ type }) => <span className="badge">{type}</span> },
  { name: "Columns", cell: ({ columns }) => columns.map(({ name }) => name).join(", ") }
]

const functionColumns: ReadonlyArray<ListColumn<Function>> = [
  {
    name: "Function",
    cell: ({ arguments: given, name }) => (
      <code>
        {name}({given})
      </code>
    )
  },
  { name: "Returns", cell: ({ returns }) => <code>{returns ?? "–"}</code> },
  { name: "Language", cell: ({ language }) => language },
  {
    name: "Runs as",
    cell: ({ security_definer }) =>
      security_definer ? <span className="badge warn">its owner</span> : <span className="faint">the caller</span>
  }
]

export const Views = ({ opens, views }: { opens: boolean; views: ReadonlyArray<View> }) =>
  views.length === 0 ? null : (
    <section className="schema-others">
      <h3>Views</h3>
      <List label="Views" columns={viewColumns(opens)} rows={views} keyOf={({ name }) => name} />
    </section>
  )

export const Functions = ({ functions }: { functions: ReadonlyArray<Function> }) =>
  functions.length === 0 ? null : (
    <section className="schema-others">
      <h3>Functions</h3>
      <List
        label="Functions"
        columns={functionColumns}
        rows={functions}
        keyOf={({ arguments: given, name }) => `${name}(${given})`}
      />
    </section>
  )
