import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { type Catalogue, useCatalogue } from "../catalogue/queries.ts"
import { Button } from "../ui/Button.tsx"
import { Skeleton } from "../ui/Empty.tsx"
import { short } from "../ui/format.ts"
import { Icon } from "../ui/Icon.tsx"

type Found = Catalogue["tables"][number] | Catalogue["views"][number]

/** Names that are listed at most; the others are found by typing. */
const most = 300

const Entry = ({ found }: { found: Found }) => {
  const { estimated_rows: rows, name, schema } = found
  const open = "row_level_security" in found && !found.row_level_security.enabled
  return (
    <li>
      <Link
        to="/tables/$schema/$table"
        params={{ schema, table: name }}
        search={{}}
        activeOptions={{ includeSearch: false }}
      >
        <Icon name={"definition" in found ? "view" : "table"} />
        <span>{name}</span>
        {open ? <span className="sr">, no row-level security</span> : null}
        {rows === null ? null : <small>{short(rows)}</small>}
      </Link>
    </li>
  )
}

export const TableList = ({ onNew }: { onNew: (() => void) | undefined }) => {
  const catalogue = useCatalogue()
  const [words, setWords] = useState("")
  const matches = ({ name }: Found) => name.toLowerCase().includes(words.toLowerCase().trim())
  const all: ReadonlyArray<Found> = [...(catalogue.data?.tables ?? []), ...(catalogue.data?.views ?? [])]
  const found = all.filter(matches).slice(0, most)
  const groups = Array.from(Map.groupBy(found, ({ schema }) => schema))
  return (
    <nav className="table-list" aria-label="Tables">
      <div className="list-head">
        <input
          className="field"
          type="search"
          placeholder="Find a table"
          aria-label="Find a table"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        {onNew === undefined ? null : <Button icon="plus" label="New table" onClick={onNew} />}
      </div>
      {catalogue.isPending ? <Skeleton lines={[60, 80, 45, 70, 55]} /> : null}
      {groups.map(([schema, relations]) => (
        <section key={schema}>
          <h2>{schema}</h2>
          <ul>
            {relations.map((one) => (
              <Entry key={one.name} found={one} />
            ))}
          </ul>
        </section>
      ))}
      {catalogue.data !== undefined && found.length === 0 ? (
        <p className="none">{all.length === 0 ? "No tables yet." : "No table has this name."}</p>
      ) : null}
    </nav>
  )
}
