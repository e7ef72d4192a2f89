import { Link } from "@tanstack/react-router"
import { useEffect, useRef, useState } from "react"
import type { Catalogue } from "../../catalogue/queries.ts"
import { Button } from "../../ui/Button.tsx"
import { Icon } from "../../ui/Icon.tsx"
import { Problem } from "../../ui/Problem.tsx"
import { copy } from "../../ui/toast.ts"
import { request } from "../../wire/request.ts"
import { type Viewer, viewerHeaders } from "../../wire/viewer.ts"
import { labelOf } from "../grid/Cell.tsx"
import { valueShown } from "../grid/values.ts"
import { type GridColumn, type Relation, shownValues } from "../grid/columns.ts"
import type { Blocks } from "../rows/blocks.ts"
import { type Filter, withFilter } from "../rows/filters.ts"
import { filterParameter, nameText } from "../rows/keyset.ts"
import { isCut, isWhole, type Row } from "../rows/identity.ts"

/** The rows of other tables that refer to this one. */
const useReferring = (catalogue: Catalogue, { name, schema }: Relation, row: Row, viewer: Viewer) => {
  const [counts, setCounts] = useState<Readonly<Record<string, number>>>({})
  const all = catalogue.tables.flatMap((other) =>
    other.foreign_keys
      .filter(({ references }) => references.schema === schema && references.table === name)
      .map((key) => ({
        id: `${other.schema}.${other.name}.${key.name}`,
        other,
        columns: key.columns,
        // A composite key is compared as a whole.
        filters: key.columns.map((column, at): Filter => [
          column,
          `eq.${String(row[key.references.columns[at] ?? ""])}`
        ])
      }))
  )
  const asked = JSON.stringify(all.map(({ id, filters }) => [id, filters]))
  useEffect(() => {
    const controller = new AbortController()
    for (const { columns, filters, id, other } of all) {
      const query = new URLSearchParams({ select: nameText(columns[0] ?? ""), limit: "1" })
      for (const filter of filters) query.append(...filterParameter(...filter))
      const headers = { prefer: "count=exact", "accept-profile": other.schema, ...viewerHeaders(viewer) }
      request(`/v1/db/${encodeURIComponent(other.name)}?${query}`, { headers, signal: controller.signal }).then(
        ({ headers }) =>
          setCounts((old) => ({ ...old, [id]: Number(headers.get("content-range")?.split("/")[1] ?? 0) })),
        // A number that can't be read is not shown.
        () => undefined
      )
    }
    return () => controller.abort()
    // What is asked depends on the row's keys only.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [asked])
  return { all, counts }
}

interface RowPanelProps {
  readonly catalogue: Catalogue
  readonly relation: Relation
  readonly columns: ReadonlyArray<GridColumn>
  readonly row: Row
  /** From which the values come that were cut in the row. */
  readonly blocks: Blocks
  readonly viewer: Viewer
  /** Opens the row that a reference names. */
  readonly onPeek: (column: GridColumn, value: unknown) => void
  readonly onClose: () => void
}

/** One row as a whole: every value uncut, and what refers to it. */
export const RowPanel = ({
  blocks,
  catalogue,
  columns,
  onClose,
  onPeek,
  relation,
  row: opened,
  viewer
}: RowPanelProps) => {
  const [read, setRead] = useState<{ readonly of: Row; readonly row?: Row; readonly failure?: unknown }>()
  const whole = read?.of === opened ? read : undefined
  const row = whole?.row ?? opened
  useEffect(() => {
    if (isWhole(opened)) return
    let left = false
    const keep = (found: { readonly row?: Row; readonly failure?: unknown }) => {
      if (!left) setRead({ of: opened, ...found })
    }
    blocks.whole(opened).then(
      (row) => keep({ row }),
      (failure: unknown) => keep({ failure })
    )
    return () => {
      left = true
    }
  }, [blocks, opened])
  const panel = useRef<HTMLElement>(null)
  const { all: referring, counts } = useReferring(catalogue, relation, row, viewer)
  const key = relation.table?.primary_key.map((name) => String(row[name])).join(" · ") ?? ""
  useEffect(() => {
    panel.current?.focus()
  }, [opened])
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes it from within
    <aside
      ref={panel}
      className="panel"
      aria-label={`Row ${key}`}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose()
      }}
    >
      <header>
        <h2>
          {relation.name} <code>{key}</code>
        </h2>
        <Button
          kind="quiet"
          icon="copy"
          label="Copy as JSON"
          disabled={!isWhole(row)}
          onClick={() => void copy(JSON.stringify(shownValues(row, columns), null, 2), "Row")}
        />
        <Button kind="quiet" icon="x" label="Close" onClick={onClose} />
      </header>
      <div className="panel-body">
        {whole?.failure === undefined ? null : (
          <Problem error={whole.failure} title="The long values could not be read" />
        )}
        {referring.length === 0 ? null : (
          <section className="refs">
            <h3>Referred to by</h3>
            {referring.map(({ columns, filters, id, other }) => (
              <Link
                key={id}
                to="/tables/$schema/$table"
                params={{ schema: other.schema, table: other.name }}
                search={filters.reduce(withFilter, {})}
              >
                <Icon name="table" size={14} /> {other.name} <code>{columns.join(", ")}</code>
                <span className="badge">{counts[id] ?? "…"}</span>
              </Link>
            ))}
          </section>
        )}
        <dl>
          {columns.map((column) => {
            const value = row[column.name]
            const label = labelOf(column, row, value)
            return (
              <div key={column.name}>
                <dt>
                  {column.name}
                  <code>{column.type}</code>
                </dt>
                <dd>
                  {value === null ? (
                    <span className="null">NULL</span>
                  ) : typeof value === "object" ? (
                    <pre>{JSON.stringify(value, null, 2)}</pre>
                  ) : (
                    <span>
                      {valueShown(value, column.type)}
                      {isCut(row, column.name) ? "…" : ""}{" "}
                      {label === undefined ? null : <span className="ref">{label}</span>}
                      {column.foreign?.table === undefined ? null : (
                        <button
                          type="button"
                          className="link"
                          aria-label={`Open the row of ${column.foreign.table.name}`}
                          onClick={() => onPeek(column, value)}
                        >
                          open
                        </button>
                      )}
                    </span>
                  )}
                </dd>
              </div>
            )
          })}
        </dl>
      </div>
    </aside>
  )
}
