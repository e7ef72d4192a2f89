import { queryOptions, useQuery } from "@tanstack/react-query"
import { call } from "../wire/call.ts"
import type { Wire } from "../wire/Wire.ts"

export type Catalogue = Wire["GET /v1/database/schema"]["success"]
export type Table = Catalogue["tables"][number]
export type Column = Table["columns"][number]
export type ForeignKey = Table["foreign_keys"][number]

export const catalogueQuery = queryOptions({
  queryKey: ["catalogue"],
  queryFn: ({ signal }) => call("GET /v1/database/schema", { signal }),
  staleTime: 30_000
})

/** Also with the schemas that are not exposed, of which `/v1/db` and the page of tables know nothing. */
export const useWholeCatalogue = () =>
  useQuery({
    queryKey: ["catalogue", "whole"],
    queryFn: ({ signal }) => call("GET /v1/database/schema", { query: { all: "true" }, signal }),
    staleTime: 30_000
  })

export const useCatalogue = () => useQuery(catalogueQuery)

export const tableOf = (catalogue: Catalogue, schema: string, name: string): Table | undefined =>
  catalogue.tables.find((table) => table.schema === schema && table.name === name)

/** Tables whose changes can be sent to receivers and clients: always those of the main database. */
export const useWatchable = () =>
  useQuery({
    queryKey: ["realtime", "tables"],
    queryFn: ({ signal }) => call("GET /api/realtime/tables", { signal })
  })

/** The labels of a type, if it is an enum. */
export const enumValues = ({ enums }: Catalogue, type: string): ReadonlyArray<string> | undefined =>
  enums.find((one) => one.type === type)?.values

/** Columns by which people recognise a row, the best first. */
const labels = ["name", "title", "label", "full_name", "email", "username", "slug", "sku", "code"]

/** The column that is shown beside references to a table: one of the usual names, else the first text that is no key. */
export const labelColumn = ({ columns, primary_key }: Table): string | undefined =>
  labels.find((name) => columns.some((column) => column.name === name)) ??
  columns.find(({ name, type }) => /^(?:text|character varying)/.test(type) && !primary_key.includes(name))?.name
