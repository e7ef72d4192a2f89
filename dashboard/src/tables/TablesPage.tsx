import "./tables.css"
import { useParams } from "@tanstack/react-router"
import { type Catalogue, useCatalogue, useFacts } from "../catalogue/queries.ts"
import { Empty } from "../ui/Empty.tsx"
import { mod } from "../ui/keys.ts"
import { Problem } from "../ui/Problem.tsx"
import { relationOf } from "./grid/columns.ts"
import { Sheet } from "./Sheet.tsx"
import { TableList } from "./TableList.tsx"

const Chosen = ({ catalogue, schema, table }: { catalogue: Catalogue; schema: string; table: string }) => {
  const facts = useFacts()
  const relation = relationOf(catalogue, schema, table)
  return relation === undefined ? (
    <section className="sheet">
      <Empty icon="table" title="No such table">
        There is no table {schema}.{table} in the exposed schemas ({catalogue.schemas.join(", ")}).
      </Empty>
    </section>
  ) : (
    <Sheet key={`${schema}.${table}`} catalogue={catalogue} facts={facts.data} relation={relation} />
  )
}

export const TablesPage = () => {
  const { schema, table } = useParams({ strict: false }) as { readonly schema?: string; readonly table?: string }
  const catalogue = useCatalogue()
  const chosen = schema !== undefined && table !== undefined
  return (
    <div className={`tables ${chosen ? "" : "index"}`}>
      <TableList />
      {catalogue.isError ? (
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
            <Empty icon="table" title="No tables yet">
              A table that is created in the SQL workbench, by a migration or over the API is here at once.
            </Empty>
          ) : (
            <Empty icon="table" title="Choose a table">
              Its rows can be filtered, sorted and edited here. {mod}K finds any table.
            </Empty>
          )}
        </section>
      )}
    </div>
  )
}
