import "./tables.css"
import { useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { lazy, Suspense, useEffect, useState } from "react"
import { type Catalogue, useCatalogue } from "../catalogue/queries.ts"
import type { Search } from "../shell/search.ts"
import { Button } from "../ui/Button.tsx"
import { Empty } from "../ui/Empty.tsx"
import { mod } from "../ui/keys.ts"
import { Problem } from "../ui/Problem.tsx"
import { place } from "../wire/place.ts"
import { relationOf } from "./grid/columns.ts"
import { Sheet } from "./Sheet.tsx"
import { TableList } from "./TableList.tsx"

const TableForm = lazy(async () => ({ default: (await import("./alter/TableForm.tsx")).TableForm }))

interface ChosenProps {
  readonly catalogue: Catalogue
  readonly schema: string
  readonly table: string
}

const Chosen = ({ catalogue, schema, table }: ChosenProps) => {
  const relation = relationOf(catalogue, schema, table)
  return relation === undefined ? (
    <section className="sheet">
      <Empty icon="table" title="No such table">
        There is no table {schema}.{table} in the exposed schemas ({catalogue.schemas.join(", ")}).
      </Empty>
    </section>
  ) : (
    <Sheet key={`${schema}.${table}`} catalogue={catalogue} relation={relation} viewer={place.viewer} />
  )
}

export const TablesPage = () => {
  const { schema, table } = useParams({ strict: false }) as { readonly schema?: string; readonly table?: string }
  const catalogue = useCatalogue()
  /** The schema of a table that is being made; null: the first one. */
  const [making, setMaking] = useState<string | null>()
  const make = () => setMaking(null)
  const { new: wanted, in: within } = useSearch({ strict: false }) as Search
  const asked = wanted !== undefined && schema === undefined
  const navigate = useNavigate()
  useEffect(() => {
    if (!asked) return
    setMaking(typeof within === "string" ? within : null)
    void navigate({ to: "/tables", search: {}, replace: true })
  }, [asked, navigate, within])
  const chosen = schema !== undefined && table !== undefined
  return (
    <div className={`tables ${chosen ? "" : "index"}`}>
      <TableList onNew={catalogue.data === undefined ? undefined : make} />
      {catalogue.isLoadingError ? (
        <section className="sheet">
          <Problem
            error={catalogue.error}
            title="The tables could not be read"
            onRetry={() => void catalogue.refetch()}
          />
        </section>
      ) : catalogue.data === undefined ? (
        <section className="sheet" />
      ) : chosen ? (
        <Chosen catalogue={catalogue.data} schema={schema} table={table} />
      ) : (
        <section className="sheet">
          {catalogue.data.tables.length === 0 ? (
            <Empty
              icon="table"
              title="No tables yet"
              action={
                <Button kind="main" icon="plus" onClick={make}>
                  New table
                </Button>
              }
            >
              One that is made by a migration or in the SQL workbench is here at once, too.
            </Empty>
          ) : (
            <Empty icon="table" title="Choose a table">
              Its rows can be filtered, sorted and edited here. {mod}K finds any table.
            </Empty>
          )}
        </section>
      )}
      {making !== undefined && catalogue.data !== undefined ? (
        <Suspense>
          <TableForm
            catalogue={catalogue.data}
            table={undefined}
            schema={making ?? undefined}
            onClose={() => setMaking(undefined)}
          />
        </Suspense>
      ) : null}
    </div>
  )
}
