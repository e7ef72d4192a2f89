import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { type FormEvent, useEffect, useMemo, useRef, useState } from "react"
import type { Catalogue, Table } from "../../catalogue/queries.ts"
import { Button } from "../../ui/Button.tsx"
import { Skeleton } from "../../ui/Empty.tsx"
import { mayDiscard, useUnsaved } from "../../ui/page/unsaved.ts"
import { Problem } from "../../ui/Problem.tsx"
import { toast } from "../../ui/toast.ts"
import { call } from "../../wire/call.ts"
import { parseRows } from "../../wire/exact.ts"
import { request } from "../../wire/request.ts"
import { type Viewer, viewerHeaders } from "../../wire/viewer.ts"
import { written } from "../grid/checks.ts"
import { type GridColumn, gridColumns, isJson, isMade } from "../grid/columns.ts"
import { editText, valueShown } from "../grid/values.ts"
import { isEqual } from "../rows/edits.ts"
import { type Filter, withFilter } from "../rows/filters.ts"
import { type Row, rowId } from "../rows/identity.ts"
import { filterParameter } from "../rows/keyset.ts"
import { conflictOf, saveStatements } from "../rows/statements.ts"
import { ColumnField, type Given } from "./ColumnField.tsx"

/** A row of another table that a reference names. */
export interface Peek {
  readonly table: Table
  /** The column that the reference is to. */
  readonly column: string
  readonly value: unknown
}

const filterOf = ({ column, value }: Peek): Filter => [column, `eq.${String(value)}`]

const useReferred = (peek: Peek, viewer: Viewer) =>
  useQuery({
    queryKey: ["referred", peek.table.schema, peek.table.name, peek.column, String(peek.value), viewer],
    queryFn: async ({ signal }): Promise<Row | null> => {
      const { columns, name, schema } = peek.table
      const query = new URLSearchParams([[...filterParameter(...filterOf(peek))], ["limit", "1"]])
      const json = new Set(columns.filter(({ type }) => isJson(type)).map((column) => column.name))
      const { body } = await request<ReadonlyArray<Row>>(`/v1/db/${encodeURIComponent(name)}?${query}`, {
        headers: { "accept-profile": schema, ...viewerHeaders(viewer) },
        parse: (text) => parseRows(text, json),
        signal
      })
      return body[0] ?? null
    },
    // What is edited must be what is there.
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false
  })

const givenOf = (row: Row, { name, type }: GridColumn): Given =>
  row[name] === null ? { tag: "null" } : { tag: "text", text: editText(row[name], type) }

interface FieldsProps {
  readonly peek: Peek
  readonly row: Row
  readonly columns: ReadonlyArray<GridColumn>
  readonly onTyped: (typed: boolean) => void
  readonly onSaved: () => void
}

/** The row's values, which are saved unless they have changed meanwhile. */
const Fields = ({ columns, onSaved, onTyped, peek: { table }, row }: FieldsProps) => {
  const [given, setGiven] = useState<Readonly<Record<string, Given>>>({})
  const [problems, setProblems] = useState<Readonly<Record<string, string>>>({})
  const [failure, setFailure] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const editable = columns.filter((column) => !isMade(column) && !column.key)
  const typed = Object.keys(given).length > 0
  useUnsaved(typed ? `Leave and discard the changes of ${table.name}?` : undefined, true)
  useEffect(() => onTyped(typed), [typed, onTyped])
  const save = async (event: FormEvent) => {
    event.preventDefault()
    const values: Record<string, unknown> = {}
    const wrong: Record<string, string> = {}
    for (const column of editable) {
      const one = given[column.name]
      if (one === undefined) continue
      const result = one.tag === "text" ? written(one.text, column, row[column.name]) : { value: null }
      if ("problem" in result) wrong[column.name] = result.problem
      else {
        const value = one.tag === "text" && column.type === "boolean" ? one.text === "true" : result.value
        if (!isEqual(value, row[column.name])) values[column.name] = value
      }
    }
    setProblems(wrong)
    if (Object.keys(wrong).length > 0 || busy) return
    if (Object.keys(values).length === 0) return setGiven({})
    const edits = new Map([[rowId(table, row), { row, values }]])
    setBusy(true)
    setFailure(undefined)
    try {
      await call("POST /v1/sql/transaction", { payload: { statements: saveStatements(table, edits) } })
      setGiven({})
      toast(`Row of ${table.name} saved`)
      onSaved()
    } catch (error) {
      setFailure(
        conflictOf((error as Error).message, edits) === undefined
          ? error
          : new Error("The row was changed or deleted by another user since it was read. Read it again")
      )
    }
    setBusy(false)
  }
  return (
    <form className="panel-body" onSubmit={(event) => void save(event)}>
      {editable.map((column) => (
        <ColumnField
          key={column.name}
          stored
          column={column}
          given={given[column.name] ?? givenOf(row, column)}
          problem={problems[column.name]}
          onGive={(next) =>
            setGiven({
              ...given,
              [column.name]:
                next.tag !== "default" ? next : column.nullable ? { tag: "null" } : { tag: "text", text: "" }
            })
          }
        />
      ))}
      {failure === undefined ? null : <Problem error={failure} title="The row was not saved" />}
      <footer>
        <Button disabled={!typed} onClick={() => setGiven({})}>
          Undo
        </Button>
        <Button kind="main" type="submit" busy={busy} disabled={!typed}>
          Save
        </Button>
      </footer>
    </form>
  )
}

interface ReferencePanelProps {
  readonly catalogue: Catalogue
  readonly peek: Peek
  readonly viewer: Viewer
  /** Whether something would be lost if it was closed. */
  readonly onTyped: (typed: boolean) => void
  readonly onSaved: () => void
  readonly onClose: () => void
}

/** The row that a reference names, beside the table that refers to it. */
export const ReferencePanel = ({ catalogue, onClose, onSaved, onTyped, peek, viewer }: ReferencePanelProps) => {
  const { table, value } = peek
  const row = useReferred(peek, viewer)
  const columns = useMemo(() => gridColumns(catalogue, { ...table, table }, {}), [catalogue, table])
  const panel = useRef<HTMLElement>(null)
  const typed = useRef(false)
  const [setTyped] = useState(() => (now: boolean) => {
    typed.current = now
    onTyped(now)
  })
  useEffect(() => {
    panel.current?.focus()
  }, [peek])
  const leave = async () => {
    if (await mayDiscard(typed.current, `the changes of ${table.name}`)) onClose()
  }
  const editable = viewer.role === "service_role" && table.primary_key.length > 0
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- Escape closes it from within
    <aside
      ref={panel}
      className="panel"
      aria-label={`${table.name} ${String(value)}`}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape") void leave()
      }}
    >
      <header>
        <h2>
          <Link
            to="/tables/$schema/$table"
            params={{ schema: table.schema, table: table.name }}
            search={withFilter({}, filterOf(peek))}
          >
            {table.name}
          </Link>{" "}
          <code>{String(value)}</code>
        </h2>
        <Button kind="quiet" icon="x" label="Close" onClick={() => void leave()} />
      </header>
      {row.isError ? (
        <Problem error={row.error} title="The row could not be read" onRetry={() => void row.refetch()} />
      ) : row.data === undefined ? (
        <Skeleton lines={[100, 100, 100]} />
      ) : row.data === null ? (
        <p className="panel-body">There is no such row, or this caller may not read it.</p>
      ) : editable ? (
        <Fields
          key={row.dataUpdatedAt}
          peek={peek}
          row={row.data}
          columns={columns}
          onTyped={setTyped}
          onSaved={() => {
            void row.refetch()
            onSaved()
          }}
        />
      ) : (
        <dl className="panel-body">
          {columns.map(({ name, type }) => (
            <div key={name}>
              <dt>
                {name} <code>{type}</code>
              </dt>
              <dd>
                {row.data?.[name] == null ? <span className="null">NULL</span> : valueShown(row.data[name], type)}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </aside>
  )
}
