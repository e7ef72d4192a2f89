import { Link } from "@tanstack/react-router"
import type { Catalogue } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { List, type ListColumn } from "../ui/List.tsx"
import { enumDrop, functionDrop } from "./drops.ts"
import type { SchemaDialog } from "./forms/Forms.tsx"
import type { EnumType, StoredFunction } from "./queries.ts"

type View = Catalogue["views"][number]
type Act = (dialog: SchemaDialog) => void

const viewColumns = (opens: boolean, act: Act): ReadonlyArray<ListColumn<View>> => [
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
  { name: "Columns", cell: ({ columns }) => columns.map(({ name }) => name).join(", ") },
  {
    name: "Actions",
    actions: true,
    cell: (view) =>
      view.type === "view" ? (
        <Button kind="quiet" onClick={() => act({ tag: "trigger", relation: view })}>
          Add trigger
        </Button>
      ) : null
  }
]

const enumColumns = (act: Act): ReadonlyArray<ListColumn<EnumType>> => [
  { name: "Enum", cell: ({ name }) => name },
  { name: "Values", cell: ({ values }) => values.join(" · ") },
  { name: "Columns", end: true, cell: ({ columns }) => columns },
  {
    name: "Actions",
    actions: true,
    cell: (type) => (
      <>
        <Button kind="quiet" onClick={() => act({ tag: "enum", type })}>
          Edit
        </Button>
        <Button kind="quiet" onClick={() => act({ tag: "drop", drop: enumDrop(type) })}>
          Drop
        </Button>
      </>
    )
  }
]

const functionColumns = (act: Act): ReadonlyArray<ListColumn<StoredFunction>> => [
  {
    name: "Function",
    cell: ({ given, name }) => (
      <code>
        {name}({given})
      </code>
    )
  },
  { name: "Returns", cell: ({ returns }) => <code>{returns ?? "–"}</code> },
  { name: "Language", cell: ({ language }) => language },
  {
    name: "Runs as",
    cell: ({ definer }) =>
      definer ? <span className="badge warn">its owner</span> : <span className="faint">the caller</span>
  },
  {
    name: "Actions",
    actions: true,
    cell: (stored) =>
      stored.extension ? (
        <span className="faint">of an extension</span>
      ) : (
        <>
          <Button kind="quiet" onClick={() => act({ tag: "function", stored })}>
            Edit
          </Button>
          <Button kind="quiet" onClick={() => act({ tag: "drop", drop: functionDrop(stored) })}>
            Drop
          </Button>
        </>
      )
  }
]

interface ViewsProps {
  readonly opens: boolean
  readonly views: ReadonlyArray<View>
  readonly act: Act
}

export const Views = ({ act, opens, views }: ViewsProps) =>
  views.length === 0 ? null : (
    <section className="schema-others">
      <h3>Views</h3>
      <List label="Views" columns={viewColumns(opens, act)} rows={views} keyOf={({ name }) => name} />
    </section>
  )

export const Enums = ({ act, enums }: { enums: ReadonlyArray<EnumType>; act: Act }) =>
  enums.length === 0 ? null : (
    <section className="schema-others">
      <h3>Enums</h3>
      <List label="Enums" columns={enumColumns(act)} rows={enums} keyOf={({ name }) => name} />
    </section>
  )

export const Functions = ({ act, functions }: { functions: ReadonlyArray<StoredFunction>; act: Act }) =>
  functions.length === 0 ? null : (
    <section className="schema-others">
      <h3>Functions</h3>
      <List
        label="Functions"
        columns={functionColumns(act)}
        rows={functions}
        keyOf={({ given, name }) => `${name}(${given})`}
      />
    </section>
  )
