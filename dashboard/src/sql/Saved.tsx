import { lazy, Suspense } from "react"
import type { Query } from "../ui/page/queries.ts"
import { Popover } from "../ui/Popover.tsx"
import type { Item } from "../workspace/items.ts"
import type { Choice } from "./chart/columns.ts"

const Keep = lazy(async () => ({ default: (await import("../workspace/Keep.tsx")).Keep }))

interface SavedProps {
  readonly query: Query
  readonly chart: Choice
  readonly onSaved: (item: Item) => void
  readonly onOpen: (item: Item) => void
}

/** Queries with names, which outlive their tabs, with how their results are drawn. */
export const Saved = ({ chart, onOpen, onSaved, query: { name, saved, text, values = {} } }: SavedProps) => (
  <Popover icon="docs" label="Saved queries" kind="quiet" align="end">
    {(close) => (
      <Suspense>
        <Keep
          of={{ kind: "query" }}
          noun="query"
          label="Saved queries"
          name={name}
          content={text.trim() === "" ? undefined : { sql: text, values, chart }}
          opened={saved}
          onSaved={onSaved}
          onOpen={onOpen}
          close={close}
        />
      </Suspense>
    )}
  </Popover>
)
